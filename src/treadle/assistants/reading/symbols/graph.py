"""References between the files of a folder, how often each definition is referred to, and the rank of files by PageRank.

The rank is biased to the files that a task is about.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import groupby
from math import sqrt
from operator import attrgetter

from msgspec import Struct

from treadle.assistants.reading.symbols.extraction import Definition
from treadle.assistants.reading.symbols.store import IndexedFile, StoredUse, SymbolReader

_MAX_NAMESAKES = 20  # files that define a name
DAMPING = 0.85
ROUNDS = 30
_PRECISION = 1e-7
_NAMED_PATH, _NAMED_SYMBOL, _EDITED = 100.0, 30.0, 10.0  # times the weight of a file without any bias, at most
_RECENT = 3_600 * 1_000_000_000  # nanoseconds
_MAX_RECENT = 0.1  # of all files; if more are new, that says nothing about the task
_WORD = re.compile(r"[\w./\\-]*\w")


class GraphDefinition(Struct, frozen=True, array_like=True):
    """A definition of a file, and how often other files refer to it. `qualified` has the class before the name."""

    qualified: str
    kind: str
    signature: str
    line: int
    references: int


class ReferenceGraph(Struct, frozen=True, array_like=True):
    """Files and the references between them: (referring file, defining file, weight), by their numbers in `paths`."""

    paths: tuple[str, ...]
    changed: tuple[int, ...]
    definitions: tuple[tuple[GraphDefinition, ...], ...]
    edges: tuple[tuple[int, int, float], ...]
    unreadable: int


def build_graph(reader: SymbolReader, under: str = ".") -> ReferenceGraph:
    """Count the references between the files below a folder."""
    files = [file for file in reader.files(under) if not file.problem]
    counter = _ReferenceCounter(files, reader.definitions())
    counter.count(reader.uses_of_definitions())
    unreadable = sum([bool(file.problem) for file in reader.files(under)])
    return ReferenceGraph(
        tuple([file.path for file in files]),
        tuple([file.changed for file in files]),
        counter.definitions(),
        tuple([(source, target, round(weight, 4)) for (source, target), weight in counter.edges.items()]),
        unreadable,
    )


class _ReferenceCounter:
    """Counts references by names, not by types.

    A bare name refers to definitions of its language, a qualified one to those of the file or a folder around it that has the
    name of the qualifier, and a member that is called to those of the classes that the calling file refers to. If several files
    define a name, its references are divided among them; their own uses don't count.
    """

    def __init__(self, files: Sequence[IndexedFile], definitions: Iterable[tuple[int, Definition]]) -> None:
        self._files = files
        self._keys = [_qualifiers(file) for file in files]
        self._having: dict[int, list[int]] = defaultdict(list)  # the files of a content
        for number, file in enumerate(files):
            self._having[file.content].append(number)
        self._definitions: dict[int, dict[str, Definition]] = defaultdict(dict)
        self._sites: dict[str, dict[tuple[int, str], None]] = defaultdict(dict)  # of a name: files and qualified names
        for content, each in definitions:
            for file in self._having.get(content, ()):
                self._definitions[file].setdefault(each.qualified, each)
                self._sites[each.name][file, each.qualified] = None
        self._references: dict[tuple[int, str], float] = defaultdict(float)
        self.edges: dict[tuple[int, int], float] = defaultdict(float)

    def count(self, uses: Iterable[StoredUse]) -> None:
        """Count the uses, which come name by name. Members are counted last: they need to know who refers to their class."""
        classes = {_owner(qualified) for sites in self._sites.values() for _, qualified in sites if "." in qualified}
        users: dict[tuple[int, str], list[int]] = {}
        members: dict[str, dict[int, int]] = {}
        for name, group in groupby(uses, key=attrgetter("name")):
            rows = [(file, use) for use in group for file in self._having.get(use.content, ())]
            top = {file for file, qualified in self._sites[name] if "." not in qualified}
            if name in classes:
                for definer in {file for file, _ in self._sites[name]}:
                    users[definer, name] = [file for file, use in rows if file != definer and self._refers(file, use, definer)]
            if len(top) < len(self._sites[name]):
                members[name] = {file: use.called for file, use in rows if use.called}
            if top:
                self._count_top(name, top, rows)
        for name, called in members.items():
            for file, qualified in self._sites[name]:
                for user in users.get((file, _owner(qualified)), ()):
                    if user in called:
                        self._references[file, qualified] += called[user]
                        self.edges[user, file] += sqrt(called[user])

    def _refers(self, file: int, use: StoredUse, definer: int) -> bool:
        """Return whether a file's use of a name may mean the definition in another."""
        same = self._files[file].language == self._files[definer].language
        return same and (use.bare > 0 or not self._keys[definer].isdisjoint(use.owners))

    def _count_top(self, name: str, definers: Set[int], rows: Sequence[tuple[int, StoredUse]]) -> None:
        defining: dict[str, list[int]] = defaultdict(list)
        for definer in definers:
            for key in self._keys[definer]:
                defining[key].append(definer)
        for file, use in rows:
            if file in definers:
                continue
            for key, found in ((f".{self._files[file].language}", use.bare), *use.owners.items()):
                meant = defining.get(key, ()) if found else ()
                if len(meant) > _MAX_NAMESAKES:  # it tells nothing about any of them
                    continue
                for definer in meant:
                    self._references[definer, name] += found / len(meant)
                    self.edges[file, definer] += sqrt(found) / len(meant)

    def definitions(self) -> tuple[tuple[GraphDefinition, ...], ...]:
        """Return the definitions of each file."""
        return tuple([tuple(self._list_definitions(file)) for file in range(len(self._files))])

    def _list_definitions(self, file: int) -> Iterator[GraphDefinition]:
        for qualified, each in self._definitions.get(file, {}).items():
            references = int(self._references[file, qualified])
            yield GraphDefinition(qualified, each.kind, each.signature, each.line, references)


def _owner(qualified: str) -> str:
    return qualified.rpartition(".")[0].rpartition(".")[2]


def _qualifiers(file: IndexedFile) -> frozenset[str]:
    """Return what may stand before a file's names: its own name and those of its folders; for bare ones, its language."""
    *folders, name = file.path.split("/")
    return frozenset((f".{file.language}", name.partition(".")[0], *folders))  # no qualifier begins with a dot


def rank_files(graph: ReferenceGraph, task: str, now: int) -> list[float]:
    """Return the rank of each file; they sum up to 1. `now` is the time in nanoseconds."""
    return page_rank(len(graph.paths), graph.edges, find_bias(graph, task, now))


def page_rank(count: int, edges: Sequence[tuple[int, int, float]], bias: Mapping[int, float]) -> list[float]:
    """Return the personalised PageRank of `count` nodes. `bias` has the weights of nodes where walks start more often."""
    if not count:
        return []
    total = count + sum(bias.values())
    start = [(1 + bias.get(node, 0.0)) / total for node in range(count)]
    leaving = [0.0] * count
    for source, _, weight in edges:
        leaving[source] += weight
    shares = [(source, target, weight / leaving[source]) for source, target, weight in edges]
    ends = [node for node in range(count) if not leaving[node]]
    rank = start
    for _ in range(ROUNDS):
        lost = sum([rank[node] for node in ends])
        following = [(1 - DAMPING + DAMPING * lost) * each for each in start]
        for source, target, share in shares:
            following[target] += DAMPING * rank[source] * share
        moved = sum([abs(old - new) for old, new in zip(rank, following, strict=True)])
        rank = following
        if moved < _PRECISION:
            break
    return rank


def find_bias(graph: ReferenceGraph, task: str, now: int) -> dict[int, float]:
    """Return the weights of the files that a task names, by path or by a definition, and of those that were edited just now."""
    bias: dict[int, float] = {}
    words = {word.replace("\\", "/") for word in _WORD.findall(task)}
    names = words | {part for word in words for part in re.split(r"[./-]", word)}
    for number, path in enumerate(graph.paths):
        name = path.rpartition("/")[2]
        if path in words or name in words or (len(name) > 6 and name.rpartition(".")[0] in names):
            bias[number] = _NAMED_PATH
    defining = {
        number: sum([each.qualified.rpartition(".")[2] in names for each in found if len(each.qualified) > 3])
        for number, found in enumerate(graph.definitions)
        if names
    }
    total = sum(defining.values())
    for number, found in defining.items():
        if found:
            bias[number] = bias.get(number, 0.0) + max(1.0, _NAMED_SYMBOL * min(1.0, 5 * found / total))
    recent = [number for number, changed in enumerate(graph.changed) if now - changed < _RECENT]
    if len(recent) <= _MAX_RECENT * len(graph.paths):
        for number in recent:
            bias[number] = bias.get(number, 0.0) + _EDITED
    scale = max(1.0, len(graph.paths) / 100)  # so that a task counts in a large folder as in a small one
    return {number: weight * scale for number, weight in bias.items()}
