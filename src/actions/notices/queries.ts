import { command, query } from "../../store/query.ts";

/** One notice of one member. */
export type NoticeRow = {
  alert_id: string;
  category: string;
  severity: "info" | "warning" | "critical";
  title: string;
  body: string;
  link_path: string | null;
  link_label: string | null;
  created_at: Date;
};

/** The newest notices of a member: alert_own. */
export const listNotices = query<NoticeRow, [shopKey: number, recipient: string, limit: number]>(
  "list_notices",
  `select alert_id, category, severity, title, body, link_url as link_path, link_label, created_at
     from alert where shop_key = $1 and recipient = $2
    order by created_at desc, alert_id desc limit $3`,
);

/** Removes a member's notices: alert_own. */
export const deleteNotices = command<[shopKey: number, recipient: string]>(
  "delete_notices",
  "delete from alert where shop_key = $1 and recipient = $2",
);
