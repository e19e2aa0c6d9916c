"""Validate and repair a model's answer: whole parts, no line in two blocks, existing names, meaningful labels,
three to six blocks, no words of the prompt. Pure.

What can be repaired is repaired and noted; what only the model can fix becomes a problem, worded for the model.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, cast

from msgspec import Struct

from treadle.assistants.reading.file_parts import FilePart, PartElement, collect_elements, find_names_elsewhere, part_ranges
from treadle.assistants.reading.file_units import (
    FEWEST,
    MOST,
    FileUnit,
    chosen_units,
    describe_units,
    fewest_blocks,
    find_units,
    label_units,
    split_groups,
)
from treadle.assistants.reading.grouping import (
    LONGEST,
    SHORTEST,
    UNASSIGNED,
    GroupClaim,
    assign_groups,
    attach_unclaimed,
    build_affinity_graph,
    clean_label,
    is_generic_label,
    merge_smallest_groups,
    split_identifier,
    to_kebab_case,
)
from treadle.assistants.reading.reading_types import Range, ResponsibilityBlock

INTENT_LINES = 4
MIN_COVERAGE = 0.3  # the share of definitions that a model has to place itself
NOTE_CHARS = 500  # of a model's own notes
_PHRASE = 4  # words
_OPINIONS = frozenset(("state", "constants"))  # which of the two something is, the model may say
_PLACES = re.compile(r"\blines?\s+\d+(?:\s*(?:-|–|to|and)\s*\d+)?", re.IGNORECASE)


class CheckedAnswer(Struct, frozen=True):
    """A validated and repaired answer. `coverage` is the share of definitions that the model itself had placed."""

    file_intent: str
    blocks: tuple[ResponsibilityBlock, ...]
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    coverage: float = 1.0
    echoes: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """Everything that a reader is told in words."""
        return (self.file_intent, *[text for block in self.blocks for text in (block.label, block.description)])


class AnswerBlock(Struct, frozen=True):
    """A block of a model's answer, as far as it could be parsed. `lists` records which list the model put a name in."""

    label: str
    description: str
    claim: GroupClaim
    lists: dict[str, str] = {}


def check_model_answer(answer: object, parts: Sequence[FilePart], lines: int, language: str = "") -> CheckedAnswer:
    """Repair a model's answer and list its problems. Fewer than three blocks are split, more than six joined."""
    given = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    intent, problems = parse_file_intent(given.get("file_intent"))
    said, notes = _parse_blocks(given, parts, lines)
    if not said:
        return CheckedAnswer(intent, (), (*problems, f"There are no responsibilities with ranges between 1 and {lines}."), notes)
    groups = assign_groups(parts, [block.claim for block in said])
    coverage = _compute_coverage(parts, groups)
    notes += _describe_disagreements(said, parts)
    graph, units = build_affinity_graph(parts), find_units(parts, language, opened=True)
    few = len({*groups} - {UNASSIGNED}) < fewest_blocks(units)
    claimed = _group_unclaimed(groups, units, len(said)) if few else groups
    whole = merge_smallest_groups(attach_unclaimed(claimed, graph), [part.size for part in parts], graph, MOST)
    whole = split_groups(whole, units, graph, new=len(said)) if few else whole
    blocks, elsewhere = list[ResponsibilityBlock](), find_names_elsewhere(parts, whole)
    for group in sorted({*whole}):
        chosen = [part for part in parts if whole[part.number] == group]
        blocks.append(build_block(said[group] if group < len(said) else None, chosen, units, parts, elsewhere[group]))
    problems += [*_check_amount(len(said), fewest_blocks(units)), *_check_missing(parts, groups, coverage), *_check_labels(said)]
    if coverage < 1:
        notes += ("Definitions that the answer had left out were added to the block they have most to do with.",)
    return CheckedAnswer(intent, tuple(make_ids_unique(blocks)), tuple(problems), (*_parse_notes(given, lines), *notes), coverage)


def _group_unclaimed(groups: Sequence[int], units: Sequence[FileUnit], new: int) -> list[int]:
    """Return the groups with one more, `new`, of the definitions that no block claims: what a model said isn't about them."""
    found = list(groups)
    for unit in units:
        if unit.is_subject and all(groups[number] == UNASSIGNED for number in unit.parts):
            for number in unit.parts:
                found[number] = new
    return found


def parse_file_intent(given: object) -> tuple[str, list[str]]:
    """Return an intent of at most four lines, and what is wrong with it."""
    text = given.strip() if isinstance(given, str) else ""
    kept = [line.strip() for line in text.splitlines() if any(map(str.isalnum, line))][:INTENT_LINES]
    return "\n".join(kept), [] if kept else ["file_intent is missing: say in 1 to 4 lines why the file exists."]


def _parse_blocks(given: dict[str, Any], parts: Sequence[FilePart], lines: int) -> tuple[list[AnswerBlock], tuple[str, ...]]:
    """Return the blocks that state their position, and notes on those that were dropped."""
    directory = ElementIndex(parts)
    found: list[AnswerBlock] = []
    unknown: list[str] = []
    elsewhere: list[str] = []
    for block in _list_of_objects(given):
        ranges, named, lists = tuple(_parse_ranges(block.get("ranges"), lines)), set[int](), dict[str, str]()
        for kind, name in _parse_names(block.get("elements")):
            entries = directory.find(name, GroupClaim(ranges))
            unknown += [] if entries else [name]
            named |= {number for number, _ in entries}
            for _, element in entries:
                if {kind, element.kind} <= _OPINIONS:
                    lists[element.name] = kind
                elif kind != element.kind:
                    elsewhere.append(f"{element.name} ({element.kind})")
        if ranges or named:
            found.append(
                AnswerBlock(
                    normalize_line(block.get("label")),
                    normalize_line(block.get("description")),
                    GroupClaim(ranges, frozenset(named)),
                    lists,
                )
            )
    notes = (("Names that the outline doesn't have were dropped", unknown), ("Names were listed as what they are", elsewhere))
    return found, tuple([f"{words}: {_join_names(names)}." for words, names in notes if names])


class ElementIndex:
    """Index of a file's elements by the names that a model may use for them."""

    def __init__(self, parts: Sequence[FilePart]) -> None:
        self._parts = parts
        self._entries: dict[str, list[tuple[int, PartElement]]] = {}
        for part in parts:
            for element in part.elements:
                for name in {element.name, element.name.rpartition(".")[2]}:
                    self._entries.setdefault(name, []).append((part.number, element))

    def find(self, name: str, near: GroupClaim) -> list[tuple[int, PartElement]]:
        """Return the elements of a name with their parts; of several, prefer those whose lines are claimed."""
        entries = self._entries.get(name.replace("::", ".").replace("#", "."), [])
        exact = [entry for entry in entries if entry[1].name == name] or entries
        return [entry for entry in exact if near.lines_of(self._parts[entry[0]])] or exact


def _describe_disagreements(said: Sequence[AnswerBlock], parts: Sequence[FilePart]) -> tuple[str, ...]:
    """Describe where names and line ranges of a model's blocks disagree, and how that was resolved."""
    twice, moved = list[str](), list[str]()
    for part in parts:
        naming = [block for block in said if part.number in block.claim.parts]
        if len(naming) > 1:
            twice.append(part.elements[0].name)
        elif naming and not naming[0].claim.lines_of(part) and any(block.claim.lines_of(part) for block in said):
            moved.append(part.elements[0].name)
    notes = (("Named in several blocks, and kept in one", twice), ("Placed by name, where the ranges said otherwise", moved))
    return tuple([f"{words}: {_join_names(names)}." for words, names in notes if names])


def _parse_notes(given: dict[str, Any], lines: int) -> tuple[str, ...]:
    """Return the model's own notes, unless they refer to lines that the file doesn't have."""
    metadata = given.get("metadata")
    text = normalize_line(cast("dict[str, Any]", metadata).get("notes")) if isinstance(metadata, dict) else ""
    if any(int(number) > lines for place in _PLACES.findall(text) for number in re.findall(r"\d+", place)):
        return ("The model's notes were dropped: they name lines that the file doesn't have.",)
    return (text if len(text) <= NOTE_CHARS else f"{text[: NOTE_CHARS - 1]}…",) if text else ()


def _join_names(names: Sequence[str]) -> str:
    kept = list(dict.fromkeys(names))
    return f"{', '.join(kept[:5])}{f' and {len(kept) - 5} more' if len(kept) > 5 else ''}"


def _list_of_objects(given: dict[str, Any]) -> list[dict[str, Any]]:
    for key in ("responsibilities", "responsibility_blocks", "blocks"):
        if isinstance(given.get(key), list):
            return [cast("dict[str, Any]", block) for block in given[key] if isinstance(block, dict)]
    return []


def normalize_line(given: object) -> str:
    """Return a text on one line; empty where it says nothing."""
    return " ".join(given.split()) if isinstance(given, str) and any(map(str.isalnum, given)) else ""


def _parse_names(given: object) -> list[tuple[str, str]]:
    """Return the names that a block lists, each with its list, without backticks and parameters."""
    lists = cast("dict[str, Any]", given).items() if isinstance(given, dict) else ()
    names = [(kind, name) for kind, names in lists if isinstance(names, list) for name in cast("list[Any]", names)]
    return [(kind, name.partition("(")[0].strip("` ")) for kind, name in names if isinstance(name, str)]


def _parse_ranges(given: object, lines: int) -> Iterable[Range]:
    """Return the ranges inside the file with start before end. A single number stands for one line."""
    for pair in cast("list[Any]", given) if isinstance(given, list) else ():
        ends = _parse_numbers(pair)
        if ends and ends[0] <= lines and ends[-1] >= 1:
            yield max(ends[0], 1), min(ends[-1], lines)


def _parse_numbers(pair: object) -> list[int]:
    if isinstance(pair, dict):
        pair = list(cast("dict[str, Any]", pair).values())
    many = cast("list[Any]", pair) if isinstance(pair, list | tuple) else [pair]
    return sorted([int(number) for number in many if isinstance(number, int | float) and not isinstance(number, bool)])


def _compute_coverage(parts: Sequence[FilePart], groups: Sequence[int]) -> float:
    placed = [groups[part.number] != UNASSIGNED for part in parts if part.defines]
    return sum(placed) / len(placed) if placed else 1.0


def _check_amount(blocks: int, least: int) -> list[str]:
    if blocks > MOST:
        return [f"There are {blocks} responsibilities; join them to {FEWEST} to {MOST}."]
    if blocks < least:
        return [f"Only {blocks} of {FEWEST} to {MOST} responsibilities are told apart."]
    return []


def _check_missing(parts: Sequence[FilePart], groups: Sequence[int], coverage: float) -> list[str]:
    if coverage >= MIN_COVERAGE:
        return []
    left = [f"{part.node.name} ({part.start}-{part.end})" for part in parts if part.defines and groups[part.number] == UNASSIGNED]
    more = f" and {len(left) - 12} more" if len(left) > 12 else ""
    return [f"These belong to no responsibility: {', '.join(left[:12])}{more}."]


def _check_labels(said: Sequence[AnswerBlock]) -> list[str]:
    """Return what is wrong with the labels: the same twice, one that could stand on anything, too short, too long."""
    problems: list[str] = []
    labels = [block.label.lower() for block in said]
    if len({*labels}) < len(labels):
        problems.append("Some labels are the same; say what tells those parts apart.")
    for block in said:
        if is_generic_label(block.label):
            problems.append(f"The label {block.label!r} could stand on anything; say what that part is for.")
        elif not SHORTEST <= len(block.label.split()) <= LONGEST:
            problems.append(f"The label {block.label!r} should have {SHORTEST} to {LONGEST} words.")
    return problems


def build_block(
    said: AnswerBlock | None, chosen: list[FilePart], units: Sequence[FileUnit], parts: Sequence[FilePart], taken: Collection[str]
) -> ResponsibilityBlock:
    """Build a block from what a model said of it; if it was split off in code, from the names and comments in it."""
    mine = chosen_units(units, chosen)
    label = clean_label(said.label) if said else ""
    if is_generic_label(label):
        label = label_units(mine, units)
    elif len(label.split()) < SHORTEST:
        label = clean_label(f"{label}: {label_units(mine, units)}")
    description = (said.description if said else "") or describe_units(mine, label)
    elements = collect_elements(chosen, said.lists if said else {}, taken)
    return ResponsibilityBlock(to_kebab_case(label), label, description, elements, part_ranges(parts, chosen))


def make_ids_unique(blocks: Iterable[ResponsibilityBlock]) -> Iterable[ResponsibilityBlock]:
    """Yield the blocks with a unique id each."""
    seen: dict[str, int] = {}
    for block in blocks:
        seen[block.id] = seen.get(block.id, 0) + 1
        yield (
            block
            if seen[block.id] == 1
            else ResponsibilityBlock(f"{block.id}-{seen[block.id]}", block.label, block.description, block.elements, block.ranges)
        )


def find_echoes(texts: Iterable[str], prompt: str, source: str) -> tuple[str, ...]:
    """Return phrases of a prompt that an answer repeats although the source doesn't have their words.

    A phrase is four words in a row, or the whole of a shorter text: a small model takes an example, or what it is told to
    do, for what the file does.
    """
    asked, known = f" {' '.join(_words(prompt))} ", {*_words(source), *split_identifier(source)}
    found: list[str] = []
    for words in map(_words, texts):
        length, end = max(2, min(_PHRASE, len(words))), -2  # of the phrase before
        for start in range(len(words) - length + 1):
            phrase = words[start : start + length]
            if f" {' '.join(phrase)} " in asked and not known.issuperset(phrase):
                found = [*found[:-1], f"{found[-1]} {phrase[-1]}"] if end == start - 1 else [*found, " ".join(phrase)]
                end = start
    return tuple(dict.fromkeys(found))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())
