"""How a language's syntax tree is read: a rule per relevant node type, and the context in which a rule runs.

A rule processes one syntax node. It yields drafts of what is defined there, and syntax nodes to continue with, so
that wrappers may nest without a deep stack. The languages themselves are in `grammars`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from treadle.assistants.reading.outline.errors import GrammarMissing, UnknownLanguage
from treadle.assistants.reading.outline.languages import canonical_language, language_names
from treadle.assistants.reading.outline.node_draft import NodeDraft, WrappedNode
from treadle.assistants.reading.outline.nodes import CONTAINERS, Kind

if TYPE_CHECKING:
    from tree_sitter import Language, Query
    from tree_sitter import Node as Syntax

    RuleOutput = NodeDraft | WrappedNode | Syntax

Rule = Callable[["Syntax", "RuleContext"], "Iterable[RuleOutput]"]


class Grammar(Struct, frozen=True, kw_only=True):
    """How one language's syntax tree is read.

    `names` are the types of leaves that may refer to a definition; `around` those of statements that are processed only
    if they contain definitions, `before` those of syntax that belongs to the next definition, `adorning` those of
    annotations inside one. `docstring` finds a definition's docstring among its statements; `plain_docs` means that any
    comment above a definition documents it.

    `selves` are the names that members are called on from inside, with `implicit_self` none as well; `label` matches what
    follows a name that refers to nothing, as in `put(item=3)`; `parameters` says whether a parameter's name comes before
    its type or after it.

    `headers` recognise a definition by its line where the text is damaged, those with `^` only if it isn't indented.
    `mend` replaces text that the grammar is known to fail on, byte for byte, so that positions stay; `leaves_holes` means
    that the grammar skips text without an error.
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
    docstring: "Callable[[Sequence[Syntax], RuleContext], str] | None" = None
    headers: tuple[tuple[str, Kind], ...] = ()
    mend: Callable[[bytes], bytes] | None = None
    leaves_holes: bool = False


class RuleContext(Struct, frozen=True):
    """Context of a rule: the file's bytes, the grammar, and the kind of the enclosing definition, if any."""

    source: bytes
    grammar: Grammar
    inside: str = ""

    def text(self, node: "Syntax | None") -> str:
        """Return the text of a node; empty for None."""
        return "" if node is None else self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def field(self, node: "Syntax", name: str) -> str:
        """The text of a node's field."""
        return self.text(node.child_by_field_name(name))

    @property
    def among_members(self) -> bool:
        """Whether the rule runs inside a class or another container."""
        return self.inside in CONTAINERS


_RULE_MODULES = {"typescript": "javascript", "tsx": "javascript", "cpp": "c"}  # languages whose rules are in the module of another


@cache
def load_grammar(language: str) -> Grammar:
    """Load the grammar of a language, by any of its names."""
    name = canonical_language(language)
    if name is None:
        raise UnknownLanguage(f"There is no outline for {language!r}; there is one for {', '.join(language_names())}.")
    home = import_module(f"treadle.assistants.reading.outline.grammars.{_RULE_MODULES.get(name, name)}")
    found: Grammar = getattr(home, name.upper())
    return found


@cache
def load_parser_language(module: str, function: str) -> "Language":
    """Load the compiled grammar of a package."""
    try:
        from tree_sitter import Language

        package: Any = import_module(module)
    except ImportError as error:
        raise GrammarMissing("Outlines need the grammars of tree-sitter: pip install 'treadle[reading]'.") from error
    pointer: object = getattr(package, function)()
    return Language(pointer)


@cache
def build_leaf_query(language: str) -> "Query":
    """Build the query that finds every name, comment and syntax error of a tree."""
    from tree_sitter import Query

    grammar = load_grammar(language)
    listed = "".join([f"({name})" for name in grammar.names])
    comments = "".join([f"({comment})" for comment in grammar.comments])
    return Query(
        load_parser_language(grammar.module, grammar.function),
        f"[{listed}] @name [{comments}] @comment (ERROR) @error (MISSING) @error",
    )
