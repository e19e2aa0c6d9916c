"""References between the files of a folder, and how often each definition is referred to from other files."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import groupby
from math import sqrt
from operator import attrgetter

from msgspec import Struct

from treadle.assistants.reading.symbols.extraction import Definition
from treadle.assistants.reading.symbols.store import IndexedFile, StoredUse, SymbolReader

_MAX_NAMESAKES = 20  # files that define a name


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
