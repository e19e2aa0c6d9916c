"""A model's answer, checked and mended: whole parts, no line in two blocks, names that exist, labels that say something. Pure.

What can be mended is mended and noted; what only the model can put right is a problem, worded for it.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, cast

from msgspec import Struct

from treadle.assistants.reading.affinity import affinity
from treadle.assistants.reading.grouping import NOBODY, Claim, assign, attach, merge_down
from treadle.assistants.reading.parts import Element, Part, elements_of, names_in, ranges_of
from treadle.assistants.reading.values import Block, Range
from treadle.assistants.reading.words import LONGEST, SHORTEST, clean_label, is_generic, kebab, label_from

FEWEST, MOST = 3, 6  # blocks of a file
INTENT_LINES = 4
ENOUGH = 0.3  # the share of definitions that a model has to place itself
NOTE_CHARS = 500  # of a model's own notes
_OPINIONS = frozenset(("state", "constants"))  # which of the two something is, the model may say
_PLACES = re.compile(r"\blines?\s+\d+(?:\s*(?:-|–|to|and)\s*\d+)?", re.IGNORECASE)


class Settled(Struct, frozen=True):
    """An answer fit to be seen. `coverage` is the share of definitions that the model itself had placed."""

    file_intent: str
    blocks: tuple[Block, ...]
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    coverage: float = 1.0


class Said(Struct, frozen=True):
    """A block as a model wrote it, as far as it could be read. `lists` says where it listed what is a matter of opinion."""

    label: str
    description: str
    claim: Claim
    lists: dict[str, str] = {}


def settle(answer: object, parts: Sequence[Part], lines: int) -> Settled:
    """The answer, mended, with what is wrong with it."""
    given = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    intent, problems = _intent(given.get("file_intent"))
    said, notes = _blocks(given, parts, lines)
    if not said:
        return Settled(intent, (), (*problems, f"There are no responsibilities with ranges between 1 and {lines}."), notes)
    groups = assign(parts, [block.claim for block in said])
    coverage = _coverage(parts, groups)
    notes += _disagreements(said, parts)
    graph = affinity(parts)
    whole = merge_down(attach(groups, graph), [part.size for part in parts], graph, MOST)
    blocks, taken = list[Block](), set[str]()
    for group in sorted({*whole}):
        blocks.append(_block(said[group], parts, [part for part in parts if whole[part.number] == group], taken))
        taken |= names_in(blocks[-1].elements)
    problems += [*_amount(len(said), parts), *_missing(parts, groups, coverage), *_labels(said)]
    if coverage < 1:
        notes += ("Definitions that the answer had left out were added to the block they have most to do with.",)
    return Settled(intent, tuple(_distinct(blocks)), tuple(problems), (*_own_notes(given, lines), *notes), coverage)


def _intent(given: object) -> tuple[str, list[str]]:
    text = given.strip() if isinstance(given, str) else ""
    kept = [line.strip() for line in text.splitlines() if line.strip()][:INTENT_LINES]
    return "\n".join(kept), [] if kept else ["file_intent is missing: say in 1 to 4 lines why the file exists."]


def _blocks(given: dict[str, Any], parts: Sequence[Part], lines: int) -> tuple[list[Said], tuple[str, ...]]:
    """The blocks that say where they are, and what was dropped."""
    directory = Directory(parts)
    found: list[Said] = []
    unknown: list[str] = []
    elsewhere: list[str] = []
    for block in _listed(given):
        ranges, named, lists = tuple(_ranges(block.get("ranges"), lines)), set[int](), dict[str, str]()
        for kind, name in _names(block.get("elements")):
            entries = directory.find(name, Claim(ranges))
            unknown += [] if entries else [name]
            named |= {number for number, _ in entries}
            for _, element in entries:
                if {kind, element.kind} <= _OPINIONS:
                    lists[element.name] = kind
                elif kind != element.kind:
                    elsewhere.append(f"{element.name} ({element.kind})")
        if ranges or named:
            found.append(Said(_text(block.get("label")), _text(block.get("description")), Claim(ranges, frozenset(named)), lists))
    notes = (("Names that the outline doesn't have were dropped", unknown), ("Names were listed as what they are", elsewhere))
    return found, tuple([f"{words}: {_some(names)}." for words, names in notes if names])


class Directory:
    """The elements of a file, found by the names that a model may give them."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._entries: dict[str, list[tuple[int, Element]]] = {}
        for part in parts:
            for element in part.elements:
                for name in {element.name, element.name.rpartition(".")[2]}:
                    self._entries.setdefault(name, []).append((part.number, element))

    def find(self, name: str, near: Claim) -> list[tuple[int, Element]]:
        """Return the elements of that name with their parts; of several, those whose lines are claimed, where some are."""
        entries = self._entries.get(name.replace("::", ".").replace("#", "."), [])
        exact = [entry for entry in entries if entry[1].name == name] or entries
        return [entry for entry in exact if near.lines_of(self._parts[entry[0]])] or exact


def _disagreements(said: Sequence[Said], parts: Sequence[Part]) -> tuple[str, ...]:
    """What names and ranges of a model's blocks say differently, and what was made of it."""
    twice, moved = list[str](), list[str]()
    for part in parts:
        naming = [block for block in said if part.number in block.claim.parts]
        if len(naming) > 1:
            twice.append(part.elements[0].name)
        elif naming and not naming[0].claim.lines_of(part) and any(block.claim.lines_of(part) for block in said):
            moved.append(part.elements[0].name)
    notes = (("Named in several blocks, and kept in one", twice), ("Placed by name, where the ranges said otherwise", moved))
    return tuple([f"{words}: {_some(names)}." for words, names in notes if names])


def _own_notes(given: dict[str, Any], lines: int) -> tuple[str, ...]:
    """The model's own notes, unless they are about lines that the file doesn't have."""
    metadata = given.get("metadata")
    text = _text(cast("dict[str, Any]", metadata).get("notes")) if isinstance(metadata, dict) else ""
    if any(int(number) > lines for place in _PLACES.findall(text) for number in re.findall(r"\d+", place)):
        return ("The model's notes were dropped: they name lines that the file doesn't have.",)
    return (text if len(text) <= NOTE_CHARS else f"{text[: NOTE_CHARS - 1]}…",) if text else ()


def _some(names: Sequence[str]) -> str:
    kept = list(dict.fromkeys(names))
    return f"{', '.join(kept[:5])}{f' and {len(kept) - 5} more' if len(kept) > 5 else ''}"


def _listed(given: dict[str, Any]) -> list[dict[str, Any]]:
    for key in ("responsibilities", "responsibility_blocks", "blocks"):
        if isinstance(given.get(key), list):
            return [cast("dict[str, Any]", block) for block in given[key] if isinstance(block, dict)]
    return []


def _text(given: object) -> str:
    return " ".join(given.split()) if isinstance(given, str) else ""


def _names(given: object) -> list[tuple[str, str]]:
    """What a block lists: the list, and a name without backticks and parameters."""
    lists = cast("dict[str, Any]", given).items() if isinstance(given, dict) else ()
    names = [(kind, name) for kind, names in lists if isinstance(names, list) for name in cast("list[Any]", names)]
    return [(kind, name.partition("(")[0].strip("` ")) for kind, name in names if isinstance(name, str)]


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


def _block(said: Said, parts: Sequence[Part], chosen: list[Part], taken: Collection[str]) -> Block:
    label = clean_label(said.label)
    if is_generic(label) or len(label.split()) < SHORTEST:
        label = named_after(chosen, label if not is_generic(label) else "")
    elements = elements_of(chosen, said.lists, taken)
    return Block(kebab(label), label, said.description or f"{label}.", elements, ranges_of(parts, chosen))


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
