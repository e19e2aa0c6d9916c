"""A project's Python sources: which file an import leads to, which definitions a file has, and what each refers to. Pure.

Imports are resolved as Python does, among the files that exist: what isn't there is installed, or the standard library.
"""

import ast
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import PurePosixPath

from msgspec import Struct

from treadle.assistants.coding.code import parse_python

_SOURCE_FOLDERS = ("", "src", "lib", "python")  # of a project, where its packages may lie
_MAX_ALIASES = 8  # imports from one module to the next that are followed for a name
_MAX_NAMESAKES = 3  # methods of one name that a call on an unknown object may mean

Function = ast.FunctionDef | ast.AsyncFunctionDef


class CodePlace(Struct, frozen=True, order=True):
    """A definition of a file: a function, a method, a class, or a variable of the module, with its lines.

    `name` has the class before it: `Cart.total`.
    """

    path: str
    name: str
    start: int
    end: int


class ImportedName(Struct, frozen=True):
    """A name that an import binds: `member` of a module, or the module itself. `level` counts the dots before the module."""

    bound: str
    module: str
    level: int
    member: str = ""


class ParsedModule(Struct, frozen=True):
    """A module: its definitions with the names that each refers to, and its imports by the name that they bind.

    A reference is a chain of names, such as ("tomli", "loads") or ("self", "advance").
    """

    places: dict[str, CodePlace]
    references: dict[str, frozenset[tuple[str, ...]]]
    imports: dict[str, ImportedName]
    classes: frozenset[str]


class ProjectSources:
    """The Python files of a project, by path."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = dict(files)

    def with_files(self, files: Mapping[str, str]) -> "ProjectSources":
        """Return the project with other contents of some files."""
        return ProjectSources({**self.files, **files})

    def module(self, path: str) -> ParsedModule:
        """Return a file's definitions and imports; none if it isn't valid Python."""
        return _parse_module(path, self.files.get(path, ""))

    def resolve_import(self, importer: str, module: str, level: int = 0) -> str:
        """Return the file of a module that a file imports; empty if it isn't the project's own."""
        parts = tuple(module.split(".")) if module else ()
        if level:
            folder = PurePosixPath(importer).parent
            for _ in range(level - 1):
                folder = folder.parent
            return self._find_module(folder, parts)
        found = (self._find_module(root, parts) for root in self._import_roots(importer))
        return next(filter(None, found), "")

    def imported_files(self, importer: str) -> list[str]:
        """Return the project's own files that a file imports from, those that its names are re-exported from included."""
        found: dict[str, None] = {}
        for bound in self.module(importer).imports.values():
            own = self.resolve_import(importer, bound.module, bound.level)
            inside = self.resolve_import(importer, f"{bound.module}.{bound.member}".strip("."), bound.level) if bound.member else ""
            member = self.find_member(own, bound.member) if own and bound.member else []
            found.update(dict.fromkeys(filter(None, [inside, *[place.path for place in member], own])))
        return list(found)

    def module_name(self, path: str) -> str:
        """Return the dotted name that a file is imported by."""
        file = PurePosixPath(path)
        parts = [] if file.stem == "__init__" else [file.stem]
        folder = file.parent
        while str(folder / "__init__.py") in self.files and folder != folder.parent:
            parts.insert(0, folder.name)
            folder = folder.parent
        return ".".join(parts)

    def _import_roots(self, importer: str) -> Iterable[PurePosixPath]:
        """Yield the folders that imports start from: that of the importer's outermost package, its parents, and their `src`."""
        folder = PurePosixPath(importer).parent
        while str(folder / "__init__.py") in self.files and folder != folder.parent:
            folder = folder.parent
        yield folder
        for parent in (folder, *folder.parents):
            yield from [parent / name for name in _SOURCE_FOLDERS]

    def _find_module(self, root: PurePosixPath, parts: tuple[str, ...]) -> str:
        path = root.joinpath(*parts)
        names = (str(path / "__init__.py"), *([f"{path}.py"] if parts else []))
        return next((name for name in names if name in self.files), "")

    def find_member(self, path: str, name: str) -> list[CodePlace]:
        """Return the definition of a name in a module, wherever it is imported from: at most one."""
        return self._follow_name(path, name, _MAX_ALIASES)

    def _follow_name(self, path: str, name: str, steps: int) -> list[CodePlace]:
        module = self.module(path)
        if name in module.places:
            return [module.places[name]]
        bound = module.imports.get(name)
        wanted = [bound] if bound is not None else [each for each in module.imports.values() if each.member == "*"]
        for each in wanted if steps else ():
            own = self.resolve_import(path, each.module, each.level)
            found = self._follow_name(own, name if each.member == "*" else each.member, steps - 1) if own and each.member else []
            if found:
                return found
        return []

    def find_references(self, place: CodePlace) -> list[CodePlace]:
        """Return the project's definitions that one refers to."""
        module = self.module(place.path)
        found: dict[CodePlace, None] = {}
        for chain in sorted(module.references.get(place.name, ())):
            found.update(dict.fromkeys(self._resolve_chain(place, module, chain)))
        found.pop(place, None)
        return list(found)

    def _resolve_chain(self, place: CodePlace, module: ParsedModule, chain: tuple[str, ...]) -> list[CodePlace]:
        head, rest = chain[0], chain[1:]
        owner = place.name.rpartition(".")[0]
        if head in ("self", "cls") and owner and rest:
            own = module.places.get(f"{owner}.{rest[0]}")
            return [own] if own else self._find_methods(rest[-1])
        bound = module.imports.get(head)
        if bound is not None:
            return self._resolve_imported(place.path, bound, rest)
        if head not in module.places:
            return self._find_methods(rest[-1]) if rest else []
        inside = module.places.get(f"{head}.{rest[0]}") if rest else None
        if inside is not None:
            return [inside]
        constructor = module.places.get(f"{head}.__init__")
        return [constructor or module.places[head]]

    def _resolve_imported(self, path: str, bound: ImportedName, rest: tuple[str, ...]) -> list[CodePlace]:
        own = self.resolve_import(path, bound.module, bound.level)
        if bound.member:
            submodule = self.resolve_import(path, f"{bound.module}.{bound.member}".strip("."), bound.level)
            if submodule and rest:
                return self.find_member(submodule, rest[0])
            found = self.find_member(own, bound.member) if own else []
            return [each for place in found for each in self._find_in_class(place, rest)]
        steps = list(rest)
        while steps:  # `import a.b` binds `a`, and `a.b.f` leads through both
            deeper = self.resolve_import(path, f"{bound.module}.{steps[0]}", bound.level)
            if not deeper:
                break
            bound, own, steps = ImportedName(bound.bound, f"{bound.module}.{steps[0]}", bound.level), deeper, steps[1:]
        found = self.find_member(own, steps[0]) if own and steps else []
        return [each for place in found for each in self._find_in_class(place, tuple(steps[1:]))]

    def _find_in_class(self, place: CodePlace, rest: tuple[str, ...]) -> list[CodePlace]:
        module = self.module(place.path)
        if place.name not in module.classes:
            return [place]
        inside = module.places.get(f"{place.name}.{rest[0]}") if rest else None
        return [inside or module.places.get(f"{place.name}.__init__") or place]

    def _find_methods(self, name: str) -> list[CodePlace]:
        """Return the methods of a name, which a call on an unknown object may mean; none if they are many."""
        found = self._methods.get(name, [])
        return found if len(found) <= _MAX_NAMESAKES else []

    @cached_property
    def _methods(self) -> dict[str, list[CodePlace]]:
        found: dict[str, list[CodePlace]] = {}
        for path in sorted(self.files):
            for name, place in self.module(path).places.items():
                if "." in name:
                    found.setdefault(name.rpartition(".")[2], []).append(place)
        return found


@lru_cache(maxsize=4_096)
def _parse_module(path: str, source: str) -> ParsedModule:
    tree = parse_python(source)
    places: dict[str, CodePlace] = {}
    references: dict[str, frozenset[tuple[str, ...]]] = {}
    classes: set[str] = set()
    for node in tree.body if tree is not None else ():
        for name, part in _list_definitions(node):
            places[name] = CodePlace(path, name, _first_line(part), part.end_lineno or part.lineno)
            references[name] = frozenset(_find_chains(part))
            if isinstance(part, ast.ClassDef):
                classes.add(name)
    bound = [each for node in ast.walk(tree) for each in _list_imports(node)] if tree is not None else []
    return ParsedModule(places, references, {each.bound: each for each in bound}, frozenset(classes))


def _list_definitions(node: ast.stmt) -> Iterable[tuple[str, Function | ast.ClassDef | ast.Assign | ast.AnnAssign]]:
    """Yield what a statement of a module defines: a class comes before its methods."""
    if isinstance(node, Function):
        yield node.name, node
    elif isinstance(node, ast.ClassDef):
        yield node.name, node
        for part in node.body:
            if isinstance(part, Function):
                yield f"{node.name}.{part.name}", part
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                yield target.id, node
    elif isinstance(node, ast.If | ast.Try):
        for part in [*node.body, *node.orelse]:
            yield from _list_definitions(part)


def _first_line(node: Function | ast.ClassDef | ast.Assign | ast.AnnAssign) -> int:
    decorators = [] if isinstance(node, ast.Assign | ast.AnnAssign) else node.decorator_list
    return min([node.lineno, *[decorator.lineno for decorator in decorators]])


def _find_chains(node: ast.AST) -> Iterable[tuple[str, ...]]:
    """Yield the names and attribute chains in a definition; a chain on anything but a name starts with an empty one."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            yield (part.id,)
        elif isinstance(part, ast.Attribute):
            chain: list[str] = []
            inner: ast.AST = part
            while isinstance(inner, ast.Attribute):
                chain.insert(0, inner.attr)
                inner = inner.value
            yield (inner.id if isinstance(inner, ast.Name) else "", *chain)


def _list_imports(node: ast.AST) -> Iterable[ImportedName]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.partition(".")[0]
            yield ImportedName(alias.asname, alias.name, 0) if alias.asname else ImportedName(top, top, 0)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            bound = f"*{node.level}{node.module}" if alias.name == "*" else alias.asname or alias.name
            yield ImportedName(bound, node.module or "", node.level, alias.name)
