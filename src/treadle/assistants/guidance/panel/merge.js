// Two people have changed one problem spec. What differs, who changed it, and a spec made of what was chosen. No page is needed.

const PLAIN = ["resolution", "mode"];

/** What differs between `theirs` and `mine`: { key, kind, name, theirs, mine, by }; `by` is who did it: "them", "me" or "both". */
export function differences(base, theirs, mine) {
  const [before, there, here] = [base, theirs, mine].map(thingsOf);
  const keys = new Set([...there.keys(), ...here.keys()]);
  return [...keys].filter((key) => !isSame(there.get(key), here.get(key))).map((key) => {
    const byThem = !isSame(before.get(key), there.get(key)), byMe = !isSame(before.get(key), here.get(key));
    const { kind, name } = here.get(key) ?? there.get(key), by = byThem && byMe ? "both" : byMe ? "me" : "them";
    return { key, kind, name, theirs: there.get(key)?.value, mine: here.get(key)?.value, by };
  });
}

/** The spec in which everything that differs is as it was chosen: `chosen.get(key)` is "mine" or "theirs". */
export function composed(theirs, mine, chosen) {
  const there = thingsOf(theirs), here = thingsOf(mine);
  const pick = (key) => (chosen.get(key) === "mine" ? here : there).get(key);
  const kept = [...new Set([...there.keys(), ...here.keys()])].map(pick).filter(Boolean);
  const values = (kind) => kept.filter((each) => each.kind === kind).map(({ value }) => value);
  return { constraints: values("constraint"), goals: values("goal"), resolution: values("resolution")[0], mode: values("mode")[0] };
}

/** Everything in a spec, by a key that is the same in all its versions: constraints by their names, goals by their words. */
function thingsOf(spec) {
  return new Map([
    ...spec.constraints.map(({ name, description, weight }) =>
      [`constraint ${name.trim().toLowerCase()}`, { kind: "constraint", name, value: { name, description, weight } }]),
    ...spec.goals.map((goal) => [`goal ${goal}`, { kind: "goal", name: goal, value: goal }]),
    ...PLAIN.map((kind) => [kind, { kind, name: kind, value: spec[kind] }]),
  ]);
}

function isSame(one, other) {
  return JSON.stringify(one?.value) === JSON.stringify(other?.value);
}
