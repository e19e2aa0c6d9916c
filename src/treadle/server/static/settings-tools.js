// Settings: MCP servers and OpenAPI documents, whose tools every assistant gets.

import { field, outcome, row, savingForm, section, tell } from "./settings-parts.js";
import { confirmDialog } from "./confirm-dialog.js";
import { ask, element, query } from "./treadle.js";

const KINDS = { mcp: "MCP server", openapi: "OpenAPI document" };

/** A section, empty until the sources are known. @param {SettingsState} state */
export function toolSection(state) {
  const rows = element("ul", { class: "settings-rows", id: "sources", "aria-label": "Sources of tools", hidden: true });
  const trouble = outcome();

  async function load() {
    /** @type {{ sources: ToolSource[] }} */
    const { sources } = await ask("/api/settings/tools");
    rows.hidden = sources.length === 0;
    rows.replaceChildren(...sources.map(sourceRow));
  }

  /** @param {ToolSource} source */
  function sourceRow({ kind, name, address, assistants, variables }) {
    const path = `/api/settings/tools/${kind}/${encodeURIComponent(name)}`;
    const facts = [KINDS[kind], assistants.length ? `for ${assistants.join(", ")}` : "for every assistant",
      ...(variables.length ? [`uses ${variables.join(", ")}`] : [])];
    const test = { words: "Test", label: `Test ${name}`, act: async () => {
      const { ok, message } = await ask(`${path}/test`, {});
      if (!ok) throw new Error(message);
      return message;
    } };
    const remove = { words: "Remove", label: `Remove ${name}`, isDangerous: true, act: async () => {
      if (!await confirmDialog(`Remove ${name}? Assistants no longer get its tools.`, "Remove")) return;
      await ask(path, undefined, { method: "DELETE" });
      await load();
      query(document, "#tools").focus();
    } };
    return row([element("strong", {}, name), element("span", { class: "small soft" }, ` · ${facts.join(" · ")}`),
      element("p", { class: "small" }, element("code", {}, address))], state.locked ? [] : [test, remove]);
  }

  const kind = element("select", { name: "kind" }, element("option", { value: "url" }, "MCP server at a URL"),
    element("option", { value: "command" }, "MCP server that is started by a command"),
    element("option", { value: "document" }, "OpenAPI document, a file or a URL"));
  const name = element("input", { type: "text", name: "name", required: true, maxlength: "32", autocomplete: "off", spellcheck: "false" });
  const address = element("input", { type: "text", name: "address", required: true, autocomplete: "off", spellcheck: "false" });
  const isPrivate = element("input", { type: "checkbox", name: "private" });
  const form = savingForm("Add", [
    element("div", { class: "two" }, field("Kind", kind), field("Name", name, ["Its tools are called NAME_tool."])),
    field("URL, command or document", address),
    element("label", { class: "check" }, isPrivate, "It may be on this machine or its network"),
  ], async () => {
    const body = { [kind.value]: address.value.trim(), private: isPrivate.checked };
    const path = `/api/settings/tools/${kind.value === "document" ? "openapi" : "mcp"}/${encodeURIComponent(name.value.trim())}`;
    const added = await ask(path, body, { method: "PUT" });
    name.value = address.value = "";
    isPrivate.checked = false;
    await load();
    return `${added.name} is added. Test whether it can be reached.`;
  }, state.locked);
  const node = section("tools", "MCP servers and OpenAPI documents",
    "Tools from elsewhere, for every assistant. Headers and credentials are set in treadle.toml.", rows, form, trouble);
  load().catch(({ message }) => tell(trouble, message, "bad"));
  return node;
}
