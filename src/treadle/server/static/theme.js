// Light or dark: as the system says, or as the user chose, which is stored in this browser. A plain script for the head of a page, so
// that nothing is drawn in the wrong colours first; as a module it works too. The switch itself is in switch.js.

(() => {
  const KEY = "treadle-theme", root = document.documentElement;

  function apply() {
    let chosen = null;
    try {
      chosen = localStorage.getItem(KEY);
    } catch {
      // a browser that keeps nothing follows the system
    }
    if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
    else delete root.dataset.theme;
  }

  apply();
  addEventListener("storage", ({ key }) => key === KEY && apply());
})();
