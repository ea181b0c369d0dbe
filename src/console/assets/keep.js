// @ts-check
// Fills in a form again that was sent after the session had ended (enter.js notes that), for the same person in this tab. Never
// keeps secrets (an address may be one), files, more than 16 kB or 30 minutes.

const user = document.querySelector("a.user")?.textContent;

document.addEventListener("submit", ({ target }) => {
  if (!(target instanceof HTMLFormElement) || target.method !== "post") return;
  const fields = fieldsOf(target).map(({ name, value, checked }) => [name, value, checked]);
  const text = JSON.stringify({
    user,
    page: location.pathname,
    action: target.action,
    at: Date.now(),
    fields,
  });
  if (text.length <= 16_384) sessionStorage.setItem("kept", text);
});

const lost = JSON.parse(sessionStorage.getItem("lost") ?? "null");
sessionStorage.clear();
const isOwn = lost?.user === user && lost?.page === location.pathname && Date.now() - lost.at < 1_800_000;
const found = isOwn && [...document.forms].find(({ action }) => action === lost.action);
if (found) fillIn(found);

/** @param {HTMLFormElement} form */
function fillIn(form) {
  for (const [place, field] of fieldsOf(form).entries()) {
    const [name, value, checked] = lost.fields[place] ?? [];
    if (field.name !== name) continue;
    if (/^(?:checkbox|radio)$/u.test(field.type)) field.checked = checked;
    else field.value = value;
  }
  form.closest("details")?.setAttribute("open", "");
  const note = document.createElement("p");
  note.className = "banner";
  note.role = "status";
  note.textContent = "What you had typed is here again. Check and send it.";
  form.before(note);
}

/** @param {HTMLFormElement} form */
function fieldsOf(form) {
  /** @type {NodeListOf<HTMLInputElement>} */
  const all = form.querySelectorAll("input, select, textarea");
  return [...all].filter(({ type, name }) => !/^(?:hidden|password|file)$/u.test(type) && name !== "address");
}
