// Signing in to the platform, and out: with a token, or with a name and a password. The token stays on the server, and no script
// can read what stands for it here. A user sees their own conversations, so the page is loaded again.

import { ask, byId, element, messageOf } from "/static/treadle.js";


/** Show the button that fits. @param {PlatformPerson} platformPerson */
export function offerSignIn({ server, username, signed_in: isSignedIn }) {
  byId("sign-in").hidden = Boolean(username);
  byId("sign-in").onclick = () => signIn(server);
  byId("sign-out").hidden = !isSignedIn;
  byId("sign-out").onclick = signOut;
}

async function signOut() {
  await ask("/api/platform/sign-out", {});
  beginAnew();
}

/** Ask for a name and a password, or a token. @param {string} server */
export function signIn(server) {
  const said = element("p", { class: "small bad", role: "alert" });
  const [username, password, token] = [field("Name", "username"), field("Password", "current-password"), field("Or a token", "off")];
  const dialog = element("dialog", { id: "sign-in-dialog", class: "modal", "aria-labelledby": "sign-in-title" });
  const cancel = () => dialog.close(), form = element("form", { method: "dialog" },
    element("h2", { id: "sign-in-title" }, "Sign in"), element("p", { class: "small soft" }, `At ${server}`),
    username.node, password.node, token.node, said,
    element("div", { class: "actions" },
      element("button", {}, "Sign in"), element("button", { type: "button", class: "quiet", onclick: cancel }, "Cancel")));
  dialog.append(form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await ask("/api/platform/sign-in", { username: username.value, password: password.value, token: token.value });
      beginAnew();
    } catch (error) {
      said.textContent = messageOf(error);
    }
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** An input with its label; what is secret isn't shown. @param {string} label @param {string} autocomplete */
function field(label, autocomplete) {
  const input = element("input", { type: autocomplete === "username" ? "text" : "password", autocomplete });
  return { node: element("label", {}, label, input), get value() { return input.value; } };
}

function beginAnew() {
  location.assign(location.pathname);
}
