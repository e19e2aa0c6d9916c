// Signing in: the token goes to the server once, and the browser's session stands for it from then on. It is kept nowhere here.
import { redirectTarget } from "/static/login-redirect.js";
import { ask, byId, messageOf } from "/static/treadle.js";

const [form, said, seen, hint, help] = ["signing", "said", "seen", "hint", "help"].map((id) => byId(id));
const token = byId("token", HTMLInputElement), enter = byId("enter", HTMLButtonElement);

/** @param {Event} event */
async function signIn(event) {
  event.preventDefault();
  enter.disabled = true;
  tell("");
  try {
    await ask("/login", { token: token.value.trim() });
    token.value = "";
    location.replace(redirectTarget(location.search, location));
  } catch (error) {
    tell(messageOf(error));
    enter.disabled = false;
    token.focus();
    token.select();
  }
}

/** @param {string} sentence */
function tell(sentence) {
  said.hidden = sentence === "";
  said.className = sentence ? "notice bad" : "";
  said.textContent = sentence;
  token.setAttribute("aria-invalid", `${sentence !== ""}`);
}

function show() {
  const isHidden = token.type === "password";
  token.type = isHidden ? "text" : "password";
  seen.setAttribute("aria-pressed", `${isHidden}`);
  seen.textContent = isHidden ? "Hide the token" : "Show the token";
}

/** A server without users is for the account that started it. */
function explain() {
  hint.textContent = "It is in the file server.token in Treadle's data folder, which only the account that runs this server can read.";
  help.textContent = "This server is for the account that started it: treadle serve prints a link that signs one browser in.";
  if (new URLSearchParams(location.search).has("token")) tell("This link was used already, or is from an earlier start of the server.");
}

/** Offer the identity provider of this server, where it has one. @param {string} title */
function offer(title) {
  const link = byId("provider-link", HTMLAnchorElement), place = new URL(redirectTarget(location.search, location), location.origin);
  link.textContent = `Sign in with ${title}`;
  link.href = `/login/oidc?${new URLSearchParams({ next: place.pathname + place.search })}`;
  byId("provider").hidden = false;
}

/** @param {{ known: boolean, owner: boolean, provider: string }} status */
function respond({ known, owner, provider }) {
  if (known) location.replace(redirectTarget(location.search, location));
  else if (owner) explain();
  else if (provider) offer(provider);
}

form.addEventListener("submit", signIn);
seen.addEventListener("click", show);
enter.disabled = false;  // from now on: before, the browser itself would send the form, and not as JSON
token.focus();
// A link from another site leads here even if the user is signed in: such a request has no cookie, but ours has.
ask("/login").then(respond, () => {});
