"""The table: how many were right, by kind and by group of kinds, for each route. Pure."""

from collections.abc import Iterable, Sequence

from bench.bfcl.cases import IRRELEVANT, KINDS, MULTI_TURN, PARALLEL, SIMPLE
from bench.bfcl.lines import Line

LIVE = tuple(kind for kind in KINDS if kind.startswith("live_"))
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("simple and multiple", SIMPLE[:2]),
    ("parallel kinds", PARALLEL[:2]),
    ("irrelevance", IRRELEVANT[:1]),
    ("live kinds", LIVE),
    ("all single-turn", (*SIMPLE, *PARALLEL, *IRRELEVANT)),
)


def table(lines: Sequence[Line]) -> str:
    """Markdown: a row for each kind and group that has lines, a column for each route."""
    routes = list(dict.fromkeys(line.route for line in lines))
    head = [f"| | {' | '.join(routes)} |", f"|---|{'---:|' * len(routes)}"]
    singles = [_row(kind, (kind,), routes, lines) for kind in KINDS if kind not in {MULTI_TURN, *IRRELEVANT[:1]}]
    groups = [_row(f"**{name}**", kinds, routes, lines) for name, kinds in GROUPS]
    rows = [*singles, *groups, _row(MULTI_TURN, (MULTI_TURN,), routes, lines)]
    seconds = f"| seconds a case | {' | '.join(_seconds(lines, route) for route in routes)} |"
    return "\n".join([*head, *[row for row in rows if row], seconds, *_errors(lines, routes)]) + "\n"


def page(lines: Sequence[Line]) -> str:
    """The table with what it is about."""
    models = ", ".join(dict.fromkeys(line.model for line in lines))
    title = "# Right calls on the Berkeley function-calling cases"
    return f"{title}\n\nModel: {models}. Right of asked, and in percent.\n\n{table(lines)}"


def share(lines: Iterable[Line]) -> str:
    """`9/12 75 %`, or a dash where nothing was asked."""
    rights = [line.right for line in lines]
    return f"{sum(rights)}/{len(rights)} {100 * sum(rights) / len(rights):.0f} %" if rights else "–"


def _row(name: str, kinds: Sequence[str], routes: Sequence[str], lines: Sequence[Line]) -> str:
    if not any(line.kind in kinds for line in lines):
        return ""
    cells = [share(line for line in lines if line.kind in kinds and line.route == route) for route in routes]
    return f"| {name} | {' | '.join(cells)} |"


def _seconds(lines: Sequence[Line], route: str) -> str:
    taken = [line.seconds for line in lines if line.route == route]
    return f"{sum(taken) / len(taken):.1f}"


def _errors(lines: Sequence[Line], routes: Sequence[str]) -> list[str]:
    """Requests that failed count as wrong; this says how many there were."""
    failed = [sum(bool(line.error) for line in lines if line.route == route) for route in routes]
    return [f"| failed requests, counted as wrong | {' | '.join(map(str, failed))} |"] if any(failed) else []
