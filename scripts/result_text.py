"""Finds where a face or an assistant reads facts out of the text of a tool's result: `make lint`, and a test.

What a tool found out is in `Result.data`; `Result.content` is for models and people, and is never read back. So in `FOLDERS` the
text of a result (`….content`, `…["content"]`, and whatever it is assigned or handed on to, within one folder) may be shown, but
not be matched, split, searched or decoded; and nobody may know the marks around untrusted content. By names, without types: what
is called `content` and is no result's stands in `MAY`, with its reason. How long a text is, and its lines and blanks, are no facts.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "treadle"
FOLDERS = ("assistants", "server", "cli", "app")
MARK = "untrusted-"  # how the marks around untrusted content begin
STRINGS = frozenset(
    ("startswith", "endswith", "partition", "rpartition", "split", "rsplit", "removeprefix", "removesuffix", "find")
)
PATTERNS = frozenset(("match", "fullmatch", "search", "findall", "finditer", "sub"))
KEEPING = frozenset(("strip", "lower", "casefold", "join", "splitlines"))  # what is the same text afterwards
READERS = frozenset(("decode", "loads", "literal_eval", "safe_load", "json_of", "json_in"))
MAY = {
    "assistants/guidance/guidance_types.py": "what a person asks, which is the content of a chat message",
    "assistants/guidance/store/validation.py": "what a person says may hold no NUL",
    "cli/ui/render.py": "whatever reaches a terminal is cleaned first",
    "server/api_docs.py": "the content of a request, in an OpenAPI document",
}

Names = set[str]
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Scope:
    """A function or a module without the functions in it: what is there, walked once."""

    def __init__(self, file: str, node: ast.AST) -> None:
        self.file, self.node = file, node
        self.own = [*_own(node)]
        self.calls = [each for each in self.own if isinstance(each, ast.Call)]
        self.assigned = [(target, value) for target, value in map(_assigned, self.own) if value is not None]


class Folder:
    """The modules of one folder: which of their functions are handed the text of a result, and what they do with it."""

    def __init__(self, files: dict[str, ast.Module]) -> None:
        self._functions: dict[str, list[Function]] = {}
        self._scopes: list[Scope] = []
        for name, tree in files.items():
            functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
            self._scopes += [Scope(name, each) for each in (tree, *functions)]
            for node in functions:
                self._functions.setdefault(node.name, []).append(node)
        self._given: dict[Function, Names] = {each: set() for some in self._functions.values() for each in some}
        while self._hand_on():
            pass

    def findings(self) -> Iterator[tuple[str, int, str]]:
        """File, line and what is done there."""
        for scope in self._scopes:
            texts = self._texts(scope)
            for node in scope.own:
                if what := _reads(node, texts):
                    yield scope.file, node.lineno, what

    def _hand_on(self) -> bool:
        """Whether one more parameter was found that is given the text of a result."""
        before = sum(map(len, self._given.values()))
        for scope in self._scopes:
            texts = self._texts(scope)
            for call in scope.calls:
                self._give(call, texts)
        return sum(map(len, self._given.values())) > before

    def _give(self, call: ast.Call, texts: Names) -> None:
        for function in self._functions.get(_last(call.func), ()):
            names = [each.arg for each in (*function.args.posonlyargs, *function.args.args) if each.arg not in ("self", "cls")]
            for name, value in [*zip(names, call.args, strict=False), *[(each.arg or "", each.value) for each in call.keywords]]:
                if _is_text(value, texts):
                    self._given[function].add(name)

    def _texts(self, scope: Scope) -> Names:
        """The names in a function that stand for the text of a result, or for several."""
        texts = set(self._given.get(scope.node, ())) if isinstance(scope.node, Function) else set[str]()
        for _ in range(3):  # a name may be given on to another one before it
            for target, value in scope.assigned:
                if _is_text(value, texts):
                    texts |= {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}
        return texts


def findings(source: Path = SOURCE) -> list[str]:
    """Where the text of a result is read, and what stands in `MAY` for nothing; a line each."""
    found: list[str] = []
    used: set[str] = set()
    for folder in sorted({path.parent for top in FOLDERS for path in (source / top).rglob("*.py")}):
        files = {path.relative_to(source).as_posix(): ast.parse(path.read_text()) for path in sorted(folder.glob("*.py"))}
        for name, line, what in Folder(files).findings():
            reason = next((key for key in MAY if name == key or (key.endswith("/") and name.startswith(key))), None)
            found += [] if reason else [f"{name}:{line}: {what}: read the data of the result"]
            used |= {reason} if reason else set()
    return [*dict.fromkeys(found), *[f"{key}: nothing is read there; take it out of MAY" for key in MAY if key not in used]]


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """What is in a function or a module, without the functions in it."""
    for child in ast.iter_child_nodes(scope):
        if not isinstance(child, Function):
            yield child
            yield from _own(child)


def _assigned(node: ast.AST) -> tuple[ast.AST, ast.expr | None]:
    match node:
        case ast.Assign():
            return node.targets[0], node.value
        case ast.AnnAssign() | ast.NamedExpr():
            return node.target, node.value
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            return node.target, node.iter
        case _:
            return node, None


def _is_text(value: ast.expr, texts: Names) -> bool:
    """Whether an expression is the text of a result, or one made of it."""
    if isinstance(value, ast.Name):
        return value.id in texts
    return _is_content(value) or any(_is_text(part, texts) for part in _parts(value))


def _is_content(value: ast.expr) -> bool:
    """Whether an expression takes the content of something."""
    match value:
        case ast.Attribute(attr="content") | ast.Subscript(slice=ast.Constant(value="content")):
            return True
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value="content"), *_]):
            return True
        case _:
            return False


def _parts(value: ast.expr) -> list[ast.expr]:
    """What a text or a list of texts is made of."""
    match value:
        case ast.Call(func=ast.Attribute(attr=name, value=of), args=arguments) if name in KEEPING:
            return [of, *arguments]
        case ast.Subscript(value=of) | ast.FormattedValue(value=of) | ast.Starred(value=of):
            return [of]
        case ast.IfExp():
            return [value.body, value.orelse]
        case ast.BinOp():
            return [value.left, value.right]
        case ast.BoolOp() | ast.JoinedStr():
            return value.values
        case ast.List() | ast.Tuple():
            return value.elts
        case ast.ListComp() | ast.GeneratorExp():
            return [value.elt]
        case _:
            return []


def _reads(node: ast.AST, texts: Names) -> str:
    """What a node reads of the text of a result, in a word; nothing where it doesn't."""
    match node:
        case ast.Constant(value=str() as words) if MARK in words:
            return MARK
        case ast.Call(func=ast.Attribute(attr=name, value=of), args=[_, *_]) if name in STRINGS and _is_text(of, texts):
            return f"….{name}"
        case ast.Call(func=function, args=arguments) if _last(function) in PATTERNS | READERS:
            return f"{_last(function)}(…)" if any(_is_text(each, texts) for each in arguments) else ""
        case ast.Compare(left=ast.Constant(value=str()), ops=[ast.In() | ast.NotIn()], comparators=[where]):
            return "… in …" if _is_text(where, texts) else ""
        case _:
            return ""


def _last(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


if __name__ == "__main__":
    lines = findings()
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.exit(bool(lines))
