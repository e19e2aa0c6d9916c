"""How a language's tree is read: a rule for each type of syntax node that matters, and the spot where a rule is at work.

A rule opens one syntax node. It yields drafts of what is defined there, and syntax nodes to go on with, so that wrappers may nest
as deep as they like without a deep stack. The languages themselves are in `grammars`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from treadle.assistants.reading.outline.draft import Draft, Shelled
from treadle.assistants.reading.outline.errors import GrammarMissing, UnknownLanguage
from treadle.assistants.reading.outline.languages import canonical, languages
from treadle.assistants.reading.outline.values import CONTAINERS, Kind

if TYPE_CHECKING:
    from tree_sitter import Language, Query
    from tree_sitter import Node as Syntax

    Opened = Draft | Shelled | Syntax

Rule = Callable[["Syntax", "Spot"], "Iterable[Opened]"]


class Grammar(Struct, frozen=True, kw_only=True):
    """How one language's tree is read.

    `names` are the types of leaves that may refer to a definition; `around` those of statements that are opened only where they
    hold definitions, `before` those of what belongs to the next definition, `adorning` those of annotations inside one. `docstring`
    finds a definition's own words among its statements; `plain_docs` says that any comment above a definition documents it.

    `selves` are what members are called on from inside, with `implicit_self` nothing as well; `label` matches what follows a name
    that refers to nothing, as in `put(item=3)`; `parameters` says whether the name of one comes before its type or after it.

    `headers` tell a definition by its line where the text is damaged, those with `^` only where it isn't indented. `mend` changes
    text that the grammar is known to stumble on, byte for byte, so that positions stay; `leaves_holes` says that it passes over
    text without an error.
    """

    module: str
    function: str = "language"
    rules: Mapping[str, Rule]
    names: tuple[str, ...]
    comments: tuple[str, ...] = ("comment",)
    around: frozenset[str] = frozenset()
    before: frozenset[str] = frozenset()
    adorning: frozenset[str] = frozenset()
    selves: tuple[bytes, ...] = ()
    implicit_self: bool = False
    label: bytes = b""
    parameters: Literal["", "name: type", "type name"] = ""
    plain_docs: bool = False
    docstring: "Callable[[Sequence[Syntax], Spot], str] | None" = None
    headers: tuple[tuple[str, Kind], ...] = ()
    mend: Callable[[bytes], bytes] | None = None
    leaves_holes: bool = False


class Spot(Struct, frozen=True):
    """Where a rule is at work: the file's bytes, the grammar, and what kind of definition is around, if any."""

    source: bytes
    grammar: Grammar
    inside: str = ""

    def text(self, node: "Syntax | None") -> str:
        """The text of a node; nothing for none."""
        return "" if node is None else self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def field(self, node: "Syntax", name: str) -> str:
        """The text of a node's field."""
        return self.text(node.child_by_field_name(name))

    @property
    def among_members(self) -> bool:
        """Whether it is the inside of a class or the like."""
        return self.inside in CONTAINERS


_HOMES = {"typescript": "javascript", "tsx": "javascript", "cpp": "c"}  # languages whose rules are in the module of another


@cache
def grammar_of(language: str) -> Grammar:
    """The grammar of a language, by any name it has."""
    name = canonical(language)
    if name is None:
        raise UnknownLanguage(f"There is no outline for {language!r}; there is one for {', '.join(languages())}.")
    home = import_module(f"treadle.assistants.reading.outline.grammars.{_HOMES.get(name, name)}")
    found: Grammar = getattr(home, name.upper())
    return found


@cache
def parser_language(module: str, function: str) -> "Language":
    """The compiled grammar in a package."""
    try:
        from tree_sitter import Language

        package: Any = import_module(module)
    except ImportError as error:
        raise GrammarMissing("Outlines need the grammars of tree-sitter: pip install 'treadle[reading]'.") from error
    pointer: object = getattr(package, function)()
    return Language(pointer)


@cache
def leaves(language: str) -> "Query":
    """Finds every name and comment of a tree, and what of it fits no rule."""
    from tree_sitter import Query

    grammar = grammar_of(language)
    listed = "".join([f"({name})" for name in grammar.names])
    comments = "".join([f"({comment})" for comment in grammar.comments])
    return Query(
        parser_language(grammar.module, grammar.function), f"[{listed}] @name [{comments}] @comment (ERROR) @error (MISSING) @error"
    )
