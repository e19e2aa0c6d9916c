// Modules by the addresses that pages import them from: /static/… and /ASSISTANT/….

import { registerHooks } from "node:module";

const SOURCE = new URL("../../src/treadle/", import.meta.url);

registerHooks({
  resolve(specifier, context, next) {
    const [, folder, file] = /^\/(\w+)\/([\w./-]+\.js)$/.exec(specifier) ?? [];
    const path = folder === "static" ? `server/static/${file}` : `assistants/${folder}/panel/${file}`;
    const found = next(folder ? new URL(path, SOURCE).href : specifier, context);
    return found.url.startsWith("file:") ? { ...found, format: "module" } : found;
  },
});
