// Light or dark: as the system says, or as the user chose, which is stored in this browser; and so is whether the sidebar is open. A
// plain script for the head of a page, so that nothing is drawn in the wrong colours or place first; as a module it works too. The
// switch itself is in theme-button.js.

(() => {
  const KEY = "treadle-theme", SIDEBAR = "treadle-sidebar", root = document.documentElement;

  /** @param {string} key */
  function stored(key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;  // a browser that keeps nothing follows the system
    }
  }

  function apply() {
    const chosen = stored(KEY), sidebar = stored(SIDEBAR);
    if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
    else delete root.dataset.theme;
    if (sidebar === "open" || sidebar === "closed") root.dataset.sidebar = sidebar;
  }

  apply();
  addEventListener("storage", ({ key }) => key === KEY && apply());
})();
