// Two people have changed one problem spec. What differs, who changed it, and a spec made of what was chosen. No page is needed.

/** @typedef {{ kind: string, name: string, value: any }} Thing */
/** @typedef {{ key: string, kind: string, name: string, theirs: any, mine: any, by: "them" | "me" | "both" }} Difference */

/** @type {("resolution" | "mode")[]} */
const PLAIN = ["resolution", "mode"];

/**
 * What differs between `theirs` and `mine`: { key, kind, name, theirs, mine, by }; `by` is who did it: "them", "me" or "both".
 * @param {SpecDraft} base @param {SpecDraft} theirs @param {SpecDraft} mine @returns {Difference[]}
 */
export function differences(base, theirs, mine) {
  const [before, there, here] = [base, theirs, mine].map(thingsOf);
  const keys = new Set([...there.keys(), ...here.keys()]);
  return [...keys].filter((key) => !isSame(there.get(key), here.get(key))).map((key) => {
    const byThem = !isSame(before.get(key), there.get(key)), byMe = !isSame(before.get(key), here.get(key));
    const { kind = "", name = "" } = here.get(key) ?? there.get(key) ?? {}, by = byThem && byMe ? "both" : byMe ? "me" : "them";
    return { key, kind, name, theirs: there.get(key)?.value, mine: here.get(key)?.value, by };
  });
}

/**
 * The spec in which everything that differs is as it was chosen: `chosen.get(key)` is "mine" or "theirs".
 * @param {SpecDraft} theirs @param {SpecDraft} mine @param {Map<string, unknown>} chosen @returns {SpecDraft}
 */
export function composed(theirs, mine, chosen) {
  const there = thingsOf(theirs), here = thingsOf(mine);
  const pick = (/** @type {string} */ key) => (chosen.get(key) === "mine" ? here : there).get(key);
  const kept = [...new Set([...there.keys(), ...here.keys()])].map(pick);
  const values = (/** @type {string} */ kind) => kept.flatMap((each) => (each?.kind === kind ? [each.value] : []));
  return { constraints: values("constraint"), goals: values("goal"), resolution: values("resolution")[0], mode: values("mode")[0] };
}

/**
 * Everything in a spec, by a key that is the same in all its versions: constraints by their names, goals by their words.
 * @param {SpecDraft} spec @returns {Map<string, Thing>}
 */
function thingsOf(spec) {
  const things = new Map();
  for (const { name, description, weight } of spec.constraints) {
    things.set(`constraint ${name.trim().toLowerCase()}`, { kind: "constraint", name, value: { name, description, weight } });
  }
  for (const goal of spec.goals) things.set(`goal ${goal}`, { kind: "goal", name: goal, value: goal });
  for (const kind of PLAIN) things.set(kind, { kind, name: kind, value: spec[kind] });
  return things;
}

/** @param {Thing | undefined} one @param {Thing | undefined} other */
function isSame(one, other) {
  return JSON.stringify(one?.value) === JSON.stringify(other?.value);
}
