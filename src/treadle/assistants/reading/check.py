"""A model's answer, checked and mended: whole parts, no line in two blocks, names that exist, labels that say something. Pure.

What can be mended is mended and noted; what only the model can put right is a problem, worded for it.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast

from msgspec import Struct

from treadle.assistants.reading.affinity import affinity
from treadle.assistants.reading.grouping import NOBODY, Claim, assign, attach, merge_down
from treadle.assistants.reading.parts import Part, elements_of, names_of, ranges_of
from treadle.assistants.reading.values import Block, Range
from treadle.assistants.reading.words import LONGEST, SHORTEST, clean_label, is_generic, kebab, label_from

FEWEST, MOST = 3, 6  # blocks of a file
INTENT_LINES = 4
ENOUGH = 0.3  # the share of definitions that a model has to place itself


class Settled(Struct, frozen=True):
    """An answer fit to be seen. `coverage` is the share of definitions that the model itself had placed."""

    file_intent: str
    blocks: tuple[Block, ...]
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    coverage: float = 1.0


class Said(Struct, frozen=True):
    """A block as a model wrote it, as far as it could be read."""

    label: str
    description: str
    claim: Claim


def settle(answer: object, parts: Sequence[Part], lines: int) -> Settled:
    """The answer, mended, with what is wrong with it."""
    given = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    intent, problems = _intent(given.get("file_intent"))
    said, notes = _blocks(given, parts, lines)
    if not said:
        return Settled(intent, (), (*problems, f"There are no responsibilities with ranges between 1 and {lines}."), notes)
    groups = assign(parts, [block.claim for block in said])
    coverage = _coverage(parts, groups)
    graph = affinity(parts)
    whole = merge_down(attach(groups, graph), [part.size for part in parts], graph, MOST)
    blocks = [_block(said[group], parts, [part for part in parts if whole[part.number] == group]) for group in sorted({*whole})]
    problems += [*_amount(len(said), parts), *_missing(parts, groups, coverage), *_labels(said)]
    if coverage < 1:
        notes += ("Definitions that the answer had left out were added to the block they have most to do with.",)
    return Settled(intent, tuple(_distinct(blocks)), tuple(problems), notes, coverage)


def _intent(given: object) -> tuple[str, list[str]]:
    text = given.strip() if isinstance(given, str) else ""
    kept = [line.strip() for line in text.splitlines() if line.strip()][:INTENT_LINES]
    return "\n".join(kept), [] if kept else ["file_intent is missing: say in 1 to 4 lines why the file exists."]


def _blocks(given: dict[str, Any], parts: Sequence[Part], lines: int) -> tuple[list[Said], tuple[str, ...]]:
    """The blocks that say where they are, and what was dropped."""
    names = {name for part in parts for name in names_of(part.node)}
    found: list[Said] = []
    unknown: list[str] = []
    for block in _listed(given):
        claimed = _names(block.get("elements"))
        unknown += [name for name in claimed if name not in names]
        claim = Claim(tuple(_ranges(block.get("ranges"), lines)), frozenset(claimed) & names)
        if claim.ranges or claim.names:
            found.append(Said(_text(block.get("label")), _text(block.get("description")), claim))
    notes = (f"Names that aren't in the file were dropped: {', '.join(unknown[:5])}.",) if unknown else ()
    return found, notes


def _listed(given: dict[str, Any]) -> list[dict[str, Any]]:
    for key in ("responsibilities", "responsibility_blocks", "blocks"):
        if isinstance(given.get(key), list):
            return [cast("dict[str, Any]", block) for block in given[key] if isinstance(block, dict)]
    return []


def _text(given: object) -> str:
    return " ".join(given.split()) if isinstance(given, str) else ""


def _names(given: object) -> list[str]:
    lists = cast("dict[str, Any]", given).values() if isinstance(given, dict) else ()
    names = [name for names in lists if isinstance(names, list) for name in cast("list[Any]", names)]
    return [name.strip("()` ") for name in names if isinstance(name, str)]


def _ranges(given: object, lines: int) -> Iterable[Range]:
    """Ranges inside of the file, the right way round. One number stands for one line."""
    for pair in cast("list[Any]", given) if isinstance(given, list) else ():
        ends = _numbers(pair)
        if ends and ends[0] <= lines and ends[-1] >= 1:
            yield max(ends[0], 1), min(ends[-1], lines)


def _numbers(pair: object) -> list[int]:
    if isinstance(pair, dict):
        pair = list(cast("dict[str, Any]", pair).values())
    many = cast("list[Any]", pair) if isinstance(pair, list | tuple) else [pair]
    return sorted([int(number) for number in many if isinstance(number, int | float) and not isinstance(number, bool)])


def _coverage(parts: Sequence[Part], groups: Sequence[int]) -> float:
    placed = [groups[part.number] != NOBODY for part in parts if part.defines]
    return sum(placed) / len(placed) if placed else 1.0


def _amount(blocks: int, parts: Sequence[Part]) -> list[str]:
    if blocks > MOST:
        return [f"There are {blocks} responsibilities; join them to {FEWEST} to {MOST}."]
    if blocks < FEWEST and sum([part.defines and part.owner < 0 for part in parts]) >= 2 * FEWEST:
        return [f"Only {blocks} of {FEWEST} to {MOST} responsibilities are told apart."]
    return []


def _missing(parts: Sequence[Part], groups: Sequence[int], coverage: float) -> list[str]:
    if coverage >= ENOUGH:
        return []
    left = [f"{part.node.name} ({part.start}-{part.end})" for part in parts if part.defines and groups[part.number] == NOBODY]
    more = f" and {len(left) - 12} more" if len(left) > 12 else ""
    return [f"These belong to no responsibility: {', '.join(left[:12])}{more}."]


def _labels(said: Sequence[Said]) -> list[str]:
    problems: list[str] = []
    labels = [block.label.lower() for block in said]
    if len({*labels}) < len(labels):
        problems.append("Some labels are the same; say what tells those parts apart.")
    for block in said:
        if is_generic(block.label):
            problems.append(f"The label {block.label!r} could stand on anything; say what that part is for.")
        elif not SHORTEST <= len(block.label.split()) <= LONGEST:
            problems.append(f"The label {block.label!r} should have {SHORTEST} to {LONGEST} words.")
    return problems


def _block(said: Said, parts: Sequence[Part], chosen: list[Part]) -> Block:
    label = clean_label(said.label)
    if is_generic(label) or len(label.split()) < SHORTEST:
        label = named_after(chosen, label if not is_generic(label) else "")
    return Block(kebab(label), label, said.description or f"{label}.", elements_of(chosen), ranges_of(parts, chosen))


def named_after(chosen: Sequence[Part], word: str = "", parts: Sequence[Part] = ()) -> str:
    """A label for some of a file's parts: after what they define. `word` is kept in front where there is one."""
    defined = [part for part in chosen if part.defines] or list(chosen)
    defined = [part for part in defined if part.owner < 0] or defined
    kinds = [part.node.kind for part in defined]
    kind = _PLURALS[max(dict.fromkeys(kinds), key=kinds.count)]
    return f"{word} {kind}" if word else label_from(_all_names(defined), kind, _all_names(parts))


def _all_names(parts: Sequence[Part]) -> list[str]:
    return [part.node.name for part in parts]


_PLURALS = {
    "class": "classes",
    "struct": "structures",
    "function": "functions",
    "method": "methods",
    "constant": "constants",
    "variable": "state",
    "field": "fields",
    "import": "imports",
    "statement": "statements",
    "interface": "interfaces",
    "enum": "enumerations",
    "trait": "traits",
    "impl": "implementations",
    "type": "types",
    "macro": "macros",
    "module": "modules",
}


def _distinct(blocks: Iterable[Block]) -> Iterable[Block]:
    """With an id of its own for each."""
    seen: dict[str, int] = {}
    for block in blocks:
        seen[block.id] = seen.get(block.id, 0) + 1
        yield (
            block
            if seen[block.id] == 1
            else Block(f"{block.id}-{seen[block.id]}", block.label, block.description, block.elements, block.ranges)
        )
