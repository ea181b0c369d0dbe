// @ts-check

/* Forms with data-passkey: before one is sent, the browser makes a passkey ("create") or signs with one ("get"). */
for (const form of document.querySelectorAll("form[data-passkey]")) {
  if (form instanceof HTMLFormElement) prepare(form);
}

const NO_PASSKEYS = "This browser does not support passkeys here. Update it, or use another one.";
/** @type {Readonly<Record<string, string>>} */
const PROBLEMS = {
  NotAllowedError:
    "Nothing was done: the passkey was not confirmed, or there is none on this device. Press the button again to retry.",
  InvalidStateError: "This device already has a passkey for your account.",
  SecurityError: "Passkeys do not work at this address. Open the console at its host name.",
};

/** @param {HTMLFormElement} form - has a field "credential" and an alert */
function prepare(form) {
  let isBusy = false;
  const send = async () => {
    if (isBusy) return;
    isBusy = true;
    tell(form, "");
    tell(form, await sign(form));
    isBusy = false;
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void send();
  });
}

/**
 * Returns why it was not sent, else an empty text.
 *
 * @param {HTMLFormElement} form
 */
async function sign(form) {
  const { passkey, options } = form.dataset;
  const field = form.elements.namedItem("credential");
  if (!(field instanceof HTMLInputElement) || options === undefined) return NO_PASSKEYS;
  if (typeof PublicKeyCredential?.parseCreationOptionsFromJSON !== "function") return NO_PASSKEYS;
  try {
    const body = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (typeof value === "string") body.append(name, value);
    const response = await fetch(options, { method: "POST", body });
    const answer = await response.json();
    if (!response.ok) return String(answer.message);
    const credential =
      passkey === "create"
        ? await navigator.credentials.create({
            publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(answer),
          })
        : await navigator.credentials.get({
            publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(answer),
          });
    if (!(credential instanceof PublicKeyCredential)) return NO_PASSKEYS;
    field.value = JSON.stringify(credential.toJSON());
    form.submit();
    return "";
  } catch (error) {
    const name = error instanceof Error ? error.name : "";
    return PROBLEMS[name] ?? "That did not work. Check your connection, then press the button again.";
  }
}

/**
 * @param {HTMLFormElement} form
 * @param {string} problem
 */
function tell(form, problem) {
  const alert = form.querySelector("[role=alert]");
  if (!(alert instanceof HTMLElement)) return;
  alert.textContent = problem;
  alert.hidden = problem === "";
}
