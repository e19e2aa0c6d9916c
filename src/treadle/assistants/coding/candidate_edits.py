"""Candidate edits: code with one operator, constant or name changed, as it often fixes a bug. Pure.

Mutation-based repair: tests decide in seconds which of them is right, where a small model takes minutes and writes
the function anew. Edits that are likelier to be a bug's fix come first.
"""

import ast
import re
from collections.abc import Iterator

from treadle.assistants.coding.code import is_python_path, parse_python

_STRINGS = r"\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'"
_TOKENS = (
    r"(?P<word>\bis not\b|\bnot in\b|\bnot |[A-Za-z_]\w*)|(?P<one> ?[-+] ?1\b(?!\.\d))|(?P<number>\b\d+\b(?!\.\d))|"
    r"(?P<operator>===|!==|==|!=|<=|>=|&&|\|\||->|=>|<<|>>|\*\*|//|[-+*/]=|[<>+\-*/%!])"
)
_PYTHON = re.compile(rf"(?P<text>{_STRINGS}|#[^\n]*)|{_TOKENS}", re.DOTALL)
_OTHERS = re.compile(rf"(?P<text>{_STRINGS}|`(?:\\.|[^`\\])*`|//[^\n]*|/\*.*?\*/)|{_TOKENS}", re.DOTALL)
_CONDITION = re.compile(r"^[ \t]*(?:if|elif) (?P<test>[^\n]+):[ \t]*$", re.MULTILINE)
_ORDERED = (ast.Sub, ast.Mod, ast.Div, ast.FloorDiv, ast.Pow)  # operators whose operands may be in the wrong order
_LIKELY, _POSSIBLE, _RARE = range(3)

# what may stand in place of an operator, a keyword or a name, and how likely it is the fix
_CHANGES: dict[str, tuple[tuple[str, int], ...]] = {
    "==": (("!=", _LIKELY),),
    "!=": (("==", _LIKELY),),
    "===": (("!==", _LIKELY),),
    "!==": (("===", _LIKELY),),
    "<": (("<=", _LIKELY), (">", _LIKELY)),
    ">": ((">=", _LIKELY), ("<", _LIKELY)),
    "<=": (("<", _LIKELY), (">=", _POSSIBLE)),
    ">=": ((">", _LIKELY), ("<=", _POSSIBLE)),
    "is": (("is not", _LIKELY),),
    "is not": (("is", _LIKELY),),
    "in": (("not in", _LIKELY),),
    "not in": (("in", _LIKELY),),
    "not ": (("", _LIKELY),),
    "!": (("", _LIKELY),),
    "and": (("or", _LIKELY),),
    "or": (("and", _LIKELY),),
    "&&": (("||", _LIKELY),),
    "||": (("&&", _LIKELY),),
    "True": (("False", _LIKELY),),
    "False": (("True", _LIKELY),),
    "true": (("false", _LIKELY),),
    "false": (("true", _LIKELY),),
    "+": (("-", _POSSIBLE),),
    "-": (("+", _POSSIBLE),),
    "+=": (("-=", _POSSIBLE), ("=", _RARE)),
    "-=": (("+=", _POSSIBLE),),
    "*": (("+", _RARE), ("//", _RARE)),
    "/": (("//", _RARE), ("*", _RARE)),
    "//": (("/", _RARE), ("%", _RARE)),
    "%": (("//", _RARE),),
    "min": (("max", _POSSIBLE),),
    "max": (("min", _POSSIBLE),),
    "any": (("all", _POSSIBLE),),
    "all": (("any", _POSSIBLE),),
    "break": (("continue", _RARE),),
    "continue": (("break", _RARE),),
    "append": (("extend", _RARE),),
    "extend": (("append", _RARE),),
    "startswith": (("endswith", _POSSIBLE),),
    "endswith": (("startswith", _POSSIBLE),),
    "lstrip": (("rstrip", _POSSIBLE), ("strip", _RARE)),
    "rstrip": (("lstrip", _POSSIBLE), ("strip", _RARE)),
    "lower": (("upper", _POSSIBLE),),
    "upper": (("lower", _POSSIBLE),),
    "partition": (("rpartition", _RARE),),
    "rpartition": (("partition", _RARE),),
    "find": (("rfind", _RARE),),
    "rfind": (("find", _RARE),),
}


def list_candidate_edits(source: str, path: str, most: int, *, rare: bool = False) -> list[str]:
    """Return the code with each of the likeliest single edits, at most so many; with `rare`, with each of the others.

    Among the others are changes of numbers, by which wrong code can be fitted to a few tests, and of loops, which may not end.
    """
    is_python = is_python_path(path)
    edits = list(_edit_tokens(source, is_python=is_python))
    if is_python:
        edits += [*_negate_conditions(source), *_edit_arithmetic(source)]
    edits.sort(key=lambda edit: edit[:2])
    found: dict[str, None] = {}
    for likelihood, start, end, text in edits:
        edited = source[:start] + text + source[end:]
        if rare == (likelihood == _RARE) and len(found) < most and (not is_python or parse_python(edited) is not None):
            found[edited] = None
    return list(found)


def _edit_tokens(source: str, *, is_python: bool) -> Iterator[tuple[int, int, int, str]]:
    """Yield edits of tokens outside of strings and comments: likelihood, position, and the new text."""
    for token in (_PYTHON if is_python else _OTHERS).finditer(source):
        if token["one"]:
            sign, other = ("-", "+") if "-" in token["one"] else ("+", "-")
            yield _POSSIBLE, *token.span(), token["one"].replace(sign, other)
            yield _POSSIBLE, *token.span(), ""
        elif token["number"]:
            number = int(token["number"])
            yield _RARE, *token.span(), str(number + 1)
            yield _RARE, *token.span(), str(number - 1)
        elif not token["text"]:
            line = source[source.rfind("\n", 0, token.start()) + 1 : token.start()]
            for text, likelihood in _CHANGES.get(token[0], ()):
                yield _RARE if line.lstrip().startswith("while") else likelihood, *token.span(), text


def _negate_conditions(source: str) -> Iterator[tuple[int, int, int, str]]:
    """Yield negations of conditions that no change of one operator negates."""
    for line in _CONDITION.finditer(source):
        if re.search(r"\b(?:and|or)\b", line["test"]):
            yield _POSSIBLE, *line.span("test"), f"not ({line['test']})"
        elif not re.search(r"[=<>]|\b(?:is|in|not)\b", line["test"]):
            yield _LIKELY, *line.span("test"), f"not {line['test']}"


def _edit_arithmetic(source: str) -> Iterator[tuple[int, int, int, str]]:
    """Yield arithmetic with its operands exchanged, with one of them alone, and a difference that is one more or less."""
    tree = parse_python(source)
    starts = [0, *[match.end() for match in re.finditer("\n", source)]]
    lines = source.split("\n")

    def offset(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())  # columns count bytes

    for node in ast.walk(tree) if tree is not None else ():
        if not isinstance(node, ast.BinOp):
            continue
        (start, end), (_, middle), (right, _) = [
            (offset(each.lineno, each.col_offset), offset(each.end_lineno or each.lineno, each.end_col_offset or each.col_offset))
            for each in (node, node.left, node.right)
        ]
        if isinstance(node.op, _ORDERED) and not any(isinstance(each, ast.Constant) for each in (node.left, node.right)):
            yield _POSSIBLE, start, end, source[right:end] + source[middle:right] + source[start:middle]
        yield _RARE, start, end, source[start:middle]
        yield _RARE, start, end, source[right:end]
        if isinstance(node.op, ast.Sub):
            yield from ((_RARE, end, end, each) for each in (" + 1", " - 1"))
