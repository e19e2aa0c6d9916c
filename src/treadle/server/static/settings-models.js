// Settings: the default model, keys of providers, and models that run on the server's machine.

import { field, newId, outcome, row, savingForm, section, sourceWords, tell } from "./settings-parts.js";
import { confirmDialog } from "./confirm-dialog.js";
import { ask, element, fill, query } from "./treadle.js";
import { timeAgo } from "./time-ago.js";

const LOOK = 1000;  // milliseconds between two looks at a download

/** @param {SettingsState} state */
export function modelSection(state) {
  const rows = element("ul", { class: "settings-rows", id: "providers", "aria-label": "Keys" });
  const local = element("ul", { class: "settings-rows", id: "local-models", "aria-label": "Models on the server's machine" });
  const adding = element("div");
  const effective = element("p", { class: "small soft", id: "effective-model" });
  const names = element("datalist", { id: newId() });
  const shown = state.values.get("model.name");

  async function load() {
    const [{ providers, local_models, engine, fetching }, models] = await Promise.all([
      ask("/api/settings/providers"), ask("/api/models")]);
    drawProviders(providers);
    drawLocal(local_models, engine, fetching);
    drawNames(providers, local_models, models);
    if (fetching && !fetching.problem) setTimeout(load, LOOK);
  }

  /** @param {ProviderInfo[]} providers */
  function drawProviders(providers) {
    const known = providers.filter(({ key }) => key);
    fill(rows, known.map(providerRow));
    rows.hidden = known.length === 0;
    if (!adding.childElementCount) adding.replaceChildren(addKey(providers));
  }

  /** @param {ProviderInfo} provider */
  function providerRow({ kind, title, key, variable, ending, added_at, problem }) {
    const about = key === "variable" ? [`from the variable ${variable}`]
      : [ending ? `a key that ends in ${ending}` : "a key", ", added ", timeAgo(added_at * 1000)];
    const test = { words: "Test", label: `Test the key of ${title}`, act: () => tested(kind) };
    const remove = { words: "Remove", label: `Remove the key of ${title}`, isDangerous: true, act: async () => {
      if (!await confirmDialog(`Remove the key of ${title}? Its models can't be used without it.`, "Remove")) return;
      await ask(`/api/settings/providers/${encodeURIComponent(kind)}/key`, undefined, { method: "DELETE" });
      await load();
      query(document, "#models").focus();
    } };
    return row([element("strong", {}, title), element("span", { class: "small soft" }, " · ", ...about),
      problem ? element("p", { class: "small bad" }, problem) : null],
    state.locked ? [] : key === "variable" ? [test] : [test, remove]);
  }

  /** Send one small request; its result is the outcome. @param {string} kind @returns {Promise<string>} */
  async function tested(kind) {
    const { ok, message } = await ask(`/api/settings/providers/${encodeURIComponent(kind)}/test`, {});
    if (!ok) throw new Error(message);
    return message;
  }

  /** @param {ProviderInfo[]} providers */
  function addKey(providers) {
    const which = element("select", { name: "kind", required: true }, providers.map(({ kind, title }) =>
      element("option", { value: kind }, title)));
    const key = element("input", { type: "password", name: "key", autocomplete: "off", spellcheck: "false", required: true });
    return savingForm("Add the key", [element("div", { class: "two" }, field("Provider", which), field("Key", key))], async () => {
      const { title } = await ask(`/api/settings/providers/${encodeURIComponent(which.value)}/key`, { key: key.value }, { method: "PUT" });
      key.value = "";
      await load();
      return `The key of ${title} is stored, encrypted. Test it with one small request above.`;
    }, state.locked);
  }

  /** @param {LocalModelInfo[]} models @param {boolean} engine @param {Fetching | null} fetching */
  function drawLocal(models, engine, fetching) {
    const now = fetching && !fetching.problem ? fetching : null;
    fill(local, models.map(({ name, title, size, licence, installed }) => {
      const bar = now?.name === name ? element("progress", { max: `${now.total || 1}`, value: `${now.done}`,
        "aria-label": `Download of ${title}` }) : null;
      const download = { words: "Download", label: `Download ${title}`, act: async () => {
        await ask(`/api/settings/downloads/${encodeURIComponent(name)}`, {});
        await load();
      } };
      const problem = fetching?.name === name ? fetching.problem : "";
      const progress = installed ? "downloaded" : bar ? "downloading" : "not downloaded";
      return row([element("strong", {}, title), element("span", { class: "small soft" },
        ` · ${Math.round(size / 1e6).toLocaleString("en")} MB · ${licence} · ${progress}`),
      problem ? element("p", { class: "small bad" }, problem) : null],
      installed || bar || state.locked ? [] : [download], bar);
    }));
    missing.hidden = engine;
  }

  /** @param {ProviderInfo[]} providers @param {LocalModelInfo[]} models @param {ModelList} offered */
  function drawNames(providers, models, offered) {
    const all = [...offered.models.map(({ name }) => name), ...providers.flatMap(({ kind, key, default_model }) =>
      (key && default_model ? [`${kind}:${default_model}`] : [])), ...models.flatMap(({ name, installed }) =>
      (installed ? [`llamacpp:${name}`] : []))];
    names.replaceChildren(...[...new Set(all)].map((name) => element("option", { value: name })));
    const chosen = `${state.values.get("model.name")?.value ?? ""}`;
    effective.textContent = !offered.default ? offered.problem ?? "" : chosen && chosen !== offered.default
      ? `This server was started with ${offered.default}, which it uses until it is started again without that.`
      : `New conversations use ${offered.default}.`;
  }

  const missing = element("p", { class: "small soft" }, "What runs them isn't installed: ",
    element("code", {}, "pip install 'treadle[local]'"), ".");
  const model = element("input", { type: "text", name: "model", list: names.id, autocomplete: "off", spellcheck: "false",
    placeholder: "openai:gpt-5-mini" });
  model.value = `${shown?.value ?? ""}`;
  const form = savingForm("Save", [field("Default model", model, [shown ? sourceWords(shown) : ""]), names], async () => {
    await state.save("model.name", model.value.trim() || null);
    await load();
    return model.value.trim() ? "Saved. It counts from now on, on the command line too." : "Saved: the default is chosen automatically.";
  }, state.locked || shown?.locked);
  const offered = state.values.get("server.models");
  const choices = element("textarea", { name: "offered", spellcheck: "false", rows: "3" });
  choices.value = /** @type {string[]} */ (offered?.value ?? []).join("\n");
  const picking = savingForm("Save", [field("Models that can be chosen in a conversation, one per line", choices,
    [offered ? sourceWords(offered) : ""])], async () => {
    await state.save("server.models", choices.value.split("\n").map((line) => line.trim()).filter(Boolean));
    return "Saved.";
  }, state.locked || offered?.locked);
  const trouble = outcome();
  const node = section("models", "Models and keys", "A key is stored encrypted on the server and never shown again. A key in an "
    + "environment variable takes precedence over one that is added here.",
  form, effective, element("h3", {}, "Keys"), rows, adding, element("h3", {}, "Models on the server's machine"), missing, local,
  element("h3", {}, "Choice"), picking, trouble);
  load().catch(({ message }) => tell(trouble, message, "bad"));
  return node;
}
