// The button that changes between light and dark. What is chosen is kept in this browser, and theme.js has it hold on every page.

import { icon } from "./icons.js";
import { element } from "./treadle.js";

const KEY = "treadle-theme";
const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");

export function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
}

/** The other one; where that is what the system says, the system is followed again. */
export function changeTheme() {
  const wanted = isDark() ? "light" : "dark";
  chooseTheme((wanted === "dark") === dark.matches ? "system" : wanted);
}

/** What was chosen; the system is followed where nothing was. @returns {"system" | "light" | "dark"} */
export function chosenTheme() {
  const chosen = root.dataset.theme;
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

/** Use these colours on all pages of this browser. @param {"system" | "light" | "dark"} wanted */
export function chooseTheme(wanted) {
  if (wanted === "system") delete root.dataset.theme;
  else root.dataset.theme = wanted;
  try {
    if (wanted === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, wanted);
  } catch {
    // then it holds for this page alone
  }
  dispatchEvent(new Event("themechange"));
}

/** What the button does next, as text. */
export function themeAction() {
  return isDark() ? "Use light colours" : "Use dark colours";
}

/** The button. */
export function themeButton() {
  const button = element("button", { type: "button", class: "quiet", id: "theme", onclick: changeTheme });

  function draw() {
    button.setAttribute("aria-label", themeAction());
    button.title = themeAction();
    button.replaceChildren(icon(isDark() ? "sun" : "moon"));
  }

  dark.addEventListener("change", draw);
  for (const name of ["storage", "themechange"]) addEventListener(name, draw);
  draw();
  return button;
}
