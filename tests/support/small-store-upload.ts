/** An upload that is being sent, with one part. */
export function uploadRows() {
  const upload = { upload_id: crypto.randomUUID() };
  const bytes = "\\x6f";
  return {
    import_upload: [
      {
        ...upload,
        status: "sending",
        created_by: "owner",
        created_at: "2026-07-01T05:00:00Z",
        expires_at: "2100-01-01T00:00:00Z",
        files: JSON.stringify([{ name: "products.csv", bytes: 1 }]),
        as_of: "2026-07-01T00:00:00Z",
      },
    ],
    import_part: [
      { ...upload, file_name: "products.csv", part_number: 0, sha256: `\\x${"00".repeat(32)}`, bytes },
    ],
  };
}
