// The switch between light and dark at the end of the bar of a page or a panel. What is chosen there is kept in this browser, and
// theme.js has it hold on every page.

import { element, query } from "./treadle.js";

const KEY = "treadle-theme";
const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");
const button = element("button", { type: "button", class: "quiet", id: "theme", onclick: change },
  element("span", { class: "moon", "aria-hidden": "true" }));

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
}

/** The other one; where that is what the system says, the system is followed again. */
function change() {
  const wanted = isDark() ? "light" : "dark", isSystems = (wanted === "dark") === dark.matches;
  if (isSystems) delete root.dataset.theme;
  else root.dataset.theme = wanted;
  try {
    if (isSystems) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, wanted);
  } catch {
    // then it holds for this page alone
  }
  draw();
}

function draw() {
  const words = isDark() ? "Use light colours" : "Use dark colours";
  button.setAttribute("aria-label", words);
  button.title = words;
}

dark.addEventListener("change", draw);
addEventListener("storage", draw);
draw();
query(document, ".bar").append(button);
