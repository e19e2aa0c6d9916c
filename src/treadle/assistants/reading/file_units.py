"""Units of a file: what a block contains as a whole, and how a block of them is labelled and described. Pure.

A type with its members, wherever they are written, is one unit; a function is one. Names that a reader of the file can't use
(private ones, type variables, overloads) are grouped like any other, and not mentioned in a text unless there are no others.
"""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from treadle.assistants.reading.file_parts import FilePart
from treadle.assistants.reading.grouping import (
    UNASSIGNED,
    Graph,
    attach_unclaimed,
    find_communities,
    find_shared_words,
    merge_smallest_groups,
    shorten_name,
    split_identifier,
)
from treadle.assistants.reading.outline.comments import as_sentence, first_sentence
from treadle.assistants.reading.outline.nodes import CONTAINERS, Node

FEWEST, MOST = 3, 6  # blocks of a file
_CALLABLE = frozenset(("function", "method", "macro"))
_TABLE = 15  # lines from which on a value is more than a detail of what uses it
_LARGE = 0.4  # of a file's lines, above which a group of a sketch is split
_LISTED = 4  # names in a sentence
_PRIVATE = re.compile(r"\b(?:private|fileprivate)\b")
_KINDS = {"struct": "structure", "enum": "enumeration", "impl": "implementation", "variable": "value"}


class FileUnit(Struct, frozen=True):
    """A definition with everything that belongs to it. `parts` are numbers, the first of which stands for the unit.

    `methods` are the names of its public methods.
    """

    node: Node
    parts: tuple[int, ...]
    lines: int
    name: str
    public: bool
    methods: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The word for its kind in a text."""
        return _KINDS.get(self.node.kind, self.node.kind)

    @property
    def is_type(self) -> bool:
        """Whether it has members of its own."""
        return self.node.kind in CONTAINERS

    @property
    def is_subject(self) -> bool:
        """Whether a file can be about it: not a detail such as a short constant, which belongs to what uses it."""
        return self.is_type or self.node.kind in _CALLABLE or self.lines >= _TABLE

    @property
    def doc(self) -> str:
        """The first sentence of its documentation; empty if there is none."""
        comment = first_sentence(self.node.leading_comment)
        return as_sentence(first_sentence(self.node.doc)) or (as_sentence(comment) if comment[:1].isupper() else "")

    @property
    def sentence(self) -> str:
        """Its documentation with its name."""
        return self.doc if self.doc.startswith(self.name.rpartition(".")[2]) else f"{self.name}: {self.doc}"


def find_units(parts: Sequence[FilePart], language: str, *, opened: bool = False) -> list[FileUnit]:
    """Return the units of a file in file order. `opened`: if there are fewer than blocks, members of the largest type are units."""
    heads = _find_heads(parts)
    units = _build_units(parts, heads, language)
    if not opened:
        return units
    largest = max([unit for unit in units if unit.is_type], key=lambda unit: unit.lines, default=None)
    if largest is None or sum([unit.is_subject for unit in units]) >= FEWEST:
        return units
    overloads: dict[str, int] = {}
    for number in sorted(largest.parts[1:]):
        part = parts[number]
        inner = part.owner >= 0 and part.owner != largest.parts[0] and parts[part.owner].node.kind != "impl"
        heads[number] = heads[part.owner] if inner else overloads.setdefault(part.node.name, number)
    return _build_units(parts, heads, language)


def chosen_units(units: Sequence[FileUnit], chosen: Sequence[FilePart]) -> list[FileUnit]:
    """Return the units that some parts are; members are units of their own if their type isn't among the parts."""
    numbers = {part.number for part in chosen}
    found = [unit for unit in units if unit.parts[0] in numbers]
    return found or [_build_unit([part], "", exports=False) for part in chosen if part.defines]


def _build_units(parts: Sequence[FilePart], heads: Sequence[int], language: str) -> list[FileUnit]:
    members: dict[int, list[FilePart]] = {}
    for number in sorted(range(len(parts)), key=lambda number: (heads[number], number != heads[number], number)):
        members.setdefault(heads[number], []).append(parts[number])
    found = [mine for head, mine in members.items() if parts[head].defines]
    exports = any(mine[0].node.signature.startswith("export ") for mine in found)
    units = [_build_unit(mine, language, exports=exports) for mine in found]
    if any(unit.public for unit in units):
        return units
    return [_build_unit(mine, "", exports=False) for mine in found]  # a file that exports nothing isn't private for that


def _build_unit(members: Sequence[FilePart], language: str, *, exports: bool) -> FileUnit:
    first = members[0]
    public = [part.node for part in members if _is_public(part.node, language, exports=exports and part.owner < 0)]
    methods = [node.name.removeprefix("self.").rpartition("::")[2] for node in public if node.kind == "method"]
    same = [part for part in members if part.node.name == first.node.name and part.owner == first.owner]
    told = first if first.node.kind in CONTAINERS else max(same, key=lambda part: (bool(part.node.doc), part.size))
    name = told.elements[0].name if told.elements and told.owner < 0 else told.node.name
    name = name.rpartition(" for ")[2] if told.node.kind == "impl" else name.removeprefix("self.")
    return FileUnit(
        told.node,
        tuple([part.number for part in members]),
        sum([part.size for part in members]),
        name,
        first.node in public,
        tuple([method for method in dict.fromkeys(methods) if method not in ("constructor", "init", "initialize", "new", name)]),
    )


def _find_heads(parts: Sequence[FilePart]) -> list[int]:
    """Return for each part the one whose unit it belongs to: its type, also if written outside of that; its first overload."""
    heads: list[int] = []
    for part in parts:
        heads.append(heads[part.owner] if part.owner >= 0 else part.number)
    types = {part.node.name.partition("<")[0]: part.number for part in reversed(parts) if _is_type_head(part)}
    overloads: dict[tuple[str, str], int] = {}
    for part in parts:
        if part.owner >= 0 or not (part.node.kind in _CALLABLE or part.node.kind == "impl"):
            continue
        owner = _owner_of(part.node)
        first = overloads.setdefault((owner, part.node.name), part.number)
        heads[part.number] = types.get(owner or part.node.name, first)
    return [heads[head] for head in heads]


def _is_type_head(part: FilePart) -> bool:
    return part.owner < 0 and part.node.kind in (*CONTAINERS, "type") and part.node.kind != "impl"


def _owner_of(node: Node) -> str:
    """Return the type that a definition belongs to by its name, as in Go, C++ and Rust."""
    name = node.owner or (node.name.rpartition(" for ")[2] if node.kind == "impl" else node.name.rpartition("::")[0])
    return name.partition("<")[0].rpartition("::")[2].strip()


def _is_hidden(node: Node) -> bool:
    """Return whether a definition says itself that it is private."""
    name = re.split(r"[.:]+", node.name)[-1]
    return name.startswith(("_", "#")) or bool(name and _PRIVATE.search(node.signature.partition(name)[0]))


def _is_public(node: Node, language: str, *, exports: bool) -> bool:
    if _is_hidden(node) or (node.kind == "type" and node.start == node.end):  # an alias, or a type variable
        return False
    match language:
        case "go":
            return node.name[:1].isupper()
        case "rust":
            return node.signature.startswith("pub") or node.kind == "impl"
        case "c" | "cpp":
            return not node.signature.startswith("static ")
        case "javascript" | "typescript" | "tsx":
            return not exports or node.signature.startswith("export ")
        case _:
            return True


def pick_named(units: Iterable[FileUnit]) -> list[FileUnit]:
    """Return the units that a text mentions, the largest first."""
    found = [unit for unit in units if unit.name]
    found = [unit for unit in found if unit.public] or found
    found = [unit for unit in found if unit.is_subject] or found
    return sorted(found, key=lambda unit: -unit.lines)


# groups


def fewest_blocks(units: Sequence[FileUnit]) -> int:
    """Return how many blocks a model has to tell apart: three, unless there are so few definitions that two may be all."""
    return FEWEST if len(units) >= 2 * FEWEST and sum([unit.is_subject for unit in units]) >= FEWEST else 1


def group_units(parts: Sequence[FilePart], units: Sequence[FileUnit], graph: Graph) -> list[int]:
    """Return the group of each part: units that use each other, three to six groups if there are as many units."""
    subjects = _pick_subjects(units)
    if not subjects:
        return [0] * len(parts)
    between = _join_graph(graph, subjects)
    order = {name: number for number, name in enumerate(sorted(between))}
    found = find_communities(between, sorted(between))
    groups = [UNASSIGNED] * len(parts)
    for unit in subjects:
        for number in unit.parts:
            groups[number] = order[found[unit.parts[0]]]
    whole = attach_unclaimed(split_groups(groups, subjects, graph, _LARGE), graph)
    for unit in units:  # whose lines may have been attached one by one
        for number in unit.parts:
            whole[number] = whole[unit.parts[0]]
    return merge_smallest_groups(whole, [part.size for part in parts], graph, MOST)


def _pick_subjects(units: Sequence[FileUnit]) -> list[FileUnit]:
    """Return the units that groups are made of. Private ones are details of what uses them, if there are enough public ones."""
    public = [unit for unit in units if unit.is_subject and unit.public]
    return public if len(public) >= FEWEST else [unit for unit in units if unit.is_subject] or list(units)


def _join_graph(graph: Graph, units: Sequence[FileUnit]) -> Graph:
    """Return the graph between units, each by the number of its own part."""
    heads = {number: unit.parts[0] for unit in units for number in unit.parts}
    whole: Graph = {unit.parts[0]: {} for unit in units}
    for number, others in graph.items():
        for other, weight in others.items():
            one, two = heads.get(number), heads.get(other)
            if one is not None and two is not None and one != two:
                whole[one][two] = whole[one].get(two, 0.0) + weight
    return whole


def split_groups(groups: Sequence[int], units: Sequence[FileUnit], graph: Graph, largest: float = 1.0, new: int = 0) -> list[int]:
    """Return at least three groups, if there are as many units, and up to six if one has more than `largest` of all lines.

    Groups that are added are numbered from `new`.
    """
    found, lines = list(groups), sum([unit.lines for unit in units if unit.is_subject])
    while (count := len({*found} - {UNASSIGNED})) < MOST:
        within: dict[int, list[FileUnit]] = {}
        for unit in units:
            if unit.is_subject:
                within.setdefault(found[unit.parts[0]], []).append(unit)
        several = [group for group, mine in within.items() if len(mine) > 1]
        if not several:
            break
        sizes = {group: sum([unit.lines for unit in within[group]]) for group in several}
        group, new = max(several, key=lambda group: sizes[group]), max(new, max(found) + 1)
        apart = _split_off(within[group], graph)
        if count >= FEWEST and (sizes[group] <= largest * lines or sum([unit.lines for unit in apart]) < _TABLE):
            break
        for unit in apart:
            for number in unit.parts:
                found[number] = new if found[number] == group else found[number]
    return found


def _split_off(units: Sequence[FileUnit], graph: Graph) -> list[FileUnit]:
    """Return the units that leave a group: its second largest community, else the unit with the weakest relations."""
    inside = _join_graph(graph, units)
    found = find_communities(inside, sorted(inside))
    largest = max(units, key=lambda unit: unit.lines)
    others: dict[int, list[FileUnit]] = {}
    for unit in units:
        if found[unit.parts[0]] != found[largest.parts[0]]:
            others.setdefault(found[unit.parts[0]], []).append(unit)
    if others:
        return max(others.values(), key=lambda mine: sum([unit.lines for unit in mine]))
    rest = [unit for unit in units if unit is not largest]
    return [min(rest, key=lambda unit: (sum(inside[unit.parts[0]].values()), -unit.lines))]


# texts


def label_units(units: Sequence[FileUnit], everywhere: Sequence[FileUnit]) -> str:
    """Return a label that says what is in a block: a word that most names share, else the largest definitions."""
    named = pick_named(units)
    if not named:
        return "Top-level code"
    first, second = named[0], named[min(1, len(named) - 1)]
    all_names = [unit.name for unit in pick_named(everywhere)]
    shared = find_shared_words([unit.name for unit in named], all_names)
    if len(named) > 1 and shared and first.lines * 2 < sum([unit.lines for unit in named]):
        alike = len({unit.kind for unit in named}) == 1
        return f"{' '.join(shared).capitalize()} {_plural(first.kind) if alike else 'definitions'}"
    if not first.public:
        return f"Internal {' '.join(split_identifier(first.name)[:3])} {first.kind}"
    one, two = shorten_name(first.name, all_names), shorten_name(second.name, all_names)
    if first is second or one == two or first.lines > 2 * second.lines:
        return f"{one} {first.kind}"
    return f"{one} and {two} {_plural(first.kind)}" if first.kind == second.kind else f"{one} {first.kind}, {two} {second.kind}"


def describe_units(units: Sequence[FileUnit], label: str) -> str:
    """Return a description of a block: the documentation of its largest definition, and the names of the others."""
    named = pick_named(units)
    if not named:
        return "Code that runs when the file is loaded."
    first, others = named[0], [unit.name for unit in named[1:] if unit.name != named[0].name]
    if not first.public:
        return next((unit.doc for unit in named if unit.doc), "Internal: what the rest of the file uses.")
    if not first.doc:
        told = next((f" {unit.sentence}" for unit in named if unit.doc), "")
        return f"{_list_members(first) if not others else f'Defines {list_names([first.name, *others])}.'}{told}"
    told = first.doc if label == f"{first.name} {first.kind}" else first.sentence
    return f"{told}{f' Also {list_names(others)}.' if others else ''}"


def describe_largest(units: Sequence[FileUnit]) -> str:
    """Return what a file can be said to be for: the documentation of its largest public type or function, else their names."""
    named = pick_named(units)
    if not named or not named[0].public:
        return next((unit.doc for unit in named if unit.doc), "Nothing in it is public." if named else "")
    sizes: dict[str, int] = {}
    for unit in named:
        sizes[unit.kind] = sizes.get(unit.kind, 0) + unit.lines
    whole = sum(sizes.values())
    types = [unit for unit in named if unit.is_type and (unit is named[0] or unit.lines * 4 >= whole)]
    first = types[0] if types else named[0]
    kind = first.kind if types else max(sizes, key=lambda kind: sizes[kind])
    alike = [unit for unit in named if unit.kind == kind]
    if first.doc and (types or first.lines * 2 >= whole):
        others = [unit.name for unit in alike if unit is not first]
        return first.sentence if first.lines * 2 >= whole or not others else f"{first.sentence} Also defines {list_names(others)}."
    if len(alike) == 1:
        return _list_members(alike[0])
    return f"Defines the {_plural(kind)} {list_names([unit.name for unit in alike])}."


def _list_members(unit: FileUnit) -> str:
    methods = unit.methods
    word = "method" if len(methods) == 1 else "methods"
    return f"Defines the {unit.kind} {unit.name}{f' with the {word} {list_names(methods)}' if methods else ''}."


def list_names(names: Sequence[str]) -> str:
    """Return some names as they are listed in a sentence."""
    kept = list(dict.fromkeys(names))
    shown = kept if len(kept) <= _LISTED + 1 else [*kept[:_LISTED], f"{len(kept) - _LISTED} more"]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]


def _plural(kind: str) -> str:
    return "classes" if kind == "class" else f"{kind}s"
