// @ts-check

/* Moves the secret of the link from the address into the form. It is sent on a press of the button alone, and stays in no
   history of the browser. */
function takeSecret() {
  const field = document.querySelector("input[name=secret]");
  const secret = location.hash.slice(1);
  if (!(field instanceof HTMLInputElement) || secret === "") return;
  field.value = secret;
  const row = field.closest(".field");
  if (row instanceof HTMLElement) row.hidden = true;
  history.replaceState(null, "", location.pathname);
}

takeSecret();
// A link that is opened where this page is open already loads nothing.
addEventListener("hashchange", takeSecret);

// See keep.js.
const sent = sessionStorage.getItem("kept");
if (location.pathname === "/sign-in" && sent !== null) sessionStorage.setItem("lost", sent);
