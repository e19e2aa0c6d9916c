"""Draws what was seen in a terminal as one animated SVG, which needs no script, no font and nothing from elsewhere.

Words that came and went at the same times are one group, with one animation that shows it for that long. Rows that scroll away
stay where they are: the whole strip of rows moves, behind a window of the terminal's height.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple

PIECES = re.compile(r"\x1b\[([0-9;]*)m([^\x1b]*)")  # a style, and what has it
COLOURS = {"31": "red", "32": "green", "33": "yellow", "34": "blue", "35": "magenta", "36": "cyan"}
WEIGHTS = {"1": "bold", "2": "dim"}
WIDE, HIGH, MARGIN, TOP = 7.8, 19, 22, 46  # pixels: a character, a row, what is around them, and where the first row begins
PRESSED = 1.6  # seconds that the name of a pressed key is shown


class Look(NamedTuple):
    """What a terminal shows from a time on: its rows with their colours, below `top` rows that have scrolled away."""

    at: float
    top: int
    rows: Sequence[str]
    cursor: tuple[int, int] | None  # row and column


class Film(NamedTuple):
    """All that was seen, keys that show nothing by themselves, when it is over, and the moment that tells most, if there is one."""

    looks: Sequence[Look]
    keys: Sequence[tuple[float, str]]
    over: float
    still: float | None = None


class Life(NamedTuple):
    """When something came, and when it went if it did."""

    since: float
    until: float | None


class Words(NamedTuple):
    """Characters of one style that came together."""

    life: Life
    row: int
    column: int
    style: str
    text: str


class Cell(NamedTuple):
    """A character on the screen."""

    text: str
    style: str


def cells_of(rows: Sequence[str]) -> list[list[Cell]]:
    """The characters of each row. A style goes on until it is switched off, also over the end of a row."""
    weight = colour = ""
    found: list[list[Cell]] = []
    for row in rows:
        found.append([])
        for codes, text in PIECES.findall(f"\x1b[m{row}"):
            for code in codes.split(";"):
                weight = WEIGHTS.get(code, "" if code in ("0", "22") else weight)
                colour = COLOURS.get(code, "" if code in ("0", "39") else colour)
            found[-1] += [Cell(each, f"{weight} {colour}".strip()) for each in text]
    return found


def plain(row: str) -> str:
    """The characters of a row alone."""
    return PIECES.sub(r"\2", row).rstrip()


def words_in(film: Film) -> list[Words]:
    """What came and went, in the order in which it came. What was added at the end of a row leaves the rest as it is."""
    shown: dict[int, list[tuple[Cell, float]]] = {}
    ended: list[Words] = []
    for look in film.looks:
        for row, now in enumerate(cells_of(look.rows), look.top):
            before = shown.get(row, [])
            kept = min(len(before), len(now))
            if [cell for cell, _ in before[:kept]] != now[:kept]:
                kept = 0
            ended += _words(row, kept, before[kept:], look.at)
            shown[row] = [*before[:kept], *((cell, look.at) for cell in now[kept:])]
    for row, cells in shown.items():
        ended += _words(row, 0, cells, None)
    return sorted(ended, key=lambda each: (each.life.since, each.life.until or film.over))


def _words(row: int, column: int, cells: Sequence[tuple[Cell, float]], until: float | None) -> Iterator[Words]:
    """Neighbours that came together and have one style, without the blanks around them."""
    for (style, since), run in groupby(cells, lambda each: (each[0].style, each[1])):
        text = "".join([cell.text for cell, _ in run])
        if text.strip():
            yield Words(Life(since, until), row, column + len(text) - len(text.lstrip()), style, text.strip())
        column += len(text)


PAGE = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">
<title>{title}</title>
<style>
text {{ font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d8dee9; white-space: pre }}
.bold {{ font-weight: bold }} .dim {{ fill: #8b95a7 }} .red {{ fill: #ff7b72 }} .green {{ fill: #7ee787 }}
.yellow {{ fill: #e3b341 }} .blue {{ fill: #79c0ff }} .magenta {{ fill: #d2a8ff }} .cyan {{ fill: #76d9e6 }}
.a {{ animation: {over:g}s step-end {times} }}
{moves}
@media (prefers-reduced-motion: reduce) {{ .a {{ animation: none }} }}
</style>
<rect x=".5" y=".5" width="{inner}" height="{tall}" rx="9" fill="#12161e" stroke="#394150"/>
<g fill="#394150"><circle cx="23" cy="20" r="5.5"/><circle cx="42" cy="20" r="5.5"/><circle cx="61" cy="20" r="5.5"/></g>
<text x="{middle}" y="24.5" text-anchor="middle" class="dim">{place}</text>
{keys}
<svg x="{margin}" y="{top}" width="{columns}" height="{rows}">
<g{strip} xml:space="preserve">
{words}
</g>
</svg>
</svg>
"""


class Place(NamedTuple):
    """Where something is from a time on."""

    since: float
    x: float
    y: float


class Moves:
    """The animations of a picture, each defined once, and how everything stands where nothing may move: as it does at `still`."""

    def __init__(self, over: float, still: float) -> None:
        self._over, self._still = over, still
        self._names: dict[str, str] = {}

    def shown(self, life: Life) -> str:
        """The attributes of what is there for some time."""
        there = life.since <= self._still and (life.until is None or self._still < life.until)
        steps = {} if life.since <= 0 else {0.0: "visibility:hidden"}
        steps[max(life.since, 0)] = "visibility:visible"
        if life.until is not None:
            steps[life.until] = "visibility:hidden"
        return ("" if there else ' visibility="hidden"') + (self._animated(steps) if len(steps) > 1 else "")

    def moved(self, places: Sequence[Place]) -> str:
        """The attributes of what is at other places from time to time."""
        x, y = next(((each.x, each.y) for each in reversed(places) if each.since <= self._still), (0, 0))
        steps = {each.since: f"transform:translate({each.x:g}px,{each.y:g}px)" for each in places}
        return f' transform="translate({x:g} {y:g})"' + self._animated(steps)

    def __str__(self) -> str:
        return "\n".join([f"@keyframes {name} {{ {steps} }}" for steps, name in self._names.items()])

    def _animated(self, steps: Mapping[float, str]) -> str:
        when: dict[str, list[str]] = {}
        for time, state in steps.items():
            when.setdefault(state, []).append(f"{time / self._over:.2%}".replace(".00%", "%"))
        text = " ".join([f"{','.join(times)}{{{state}}}" for state, times in when.items()])
        name = self._names.setdefault(text, f"m{len(self._names)}")
        return f' class="a" style="animation-name:{name}"'


def drawn(film: Film, *, title: str, place: str, columns: int) -> str:
    """The picture. A film with a moment that tells most goes on and on, as its beginning is no longer seen at its end."""
    words = words_in(film)
    first, last = min(each.row for each in words), max(each.row for each in words)  # a prompt may begin with an empty row
    rows = min(len(film.looks[-1].rows), last + 1 - first)
    moves = Moves(film.over, film.over if film.still is None else film.still)
    width, height = round(columns * WIDE + 2 * MARGIN), TOP + rows * HIGH + MARGIN - 6
    groups = [_group(life, each, moves) for life, each in groupby(words, lambda each: each.life)]
    return PAGE.format(
        title=escape(title),
        place=escape(place),
        width=width,
        height=height,
        inner=width - 1,
        tall=height - 1,
        middle=width // 2,
        margin=MARGIN,
        top=TOP,
        columns=width - MARGIN,
        rows=rows * HIGH,
        over=film.over,
        times="1" if film.still is None else "infinite",
        keys="\n".join([_key(at, name, width - MARGIN, moves) for at, name in film.keys]),
        strip=moves.moved([Place(look.at, 0, -max(look.top, first) * HIGH) for look in film.looks]),
        words="\n".join([*groups, _cursor(film, moves)]),
        moves=moves,
    )


def _group(life: Life, words: Iterable[Words], moves: Moves) -> str:
    texts = [_text(each.column * WIDE, each.row * HIGH + 14, each.text, each.style) for each in words]
    return f"<g{moves.shown(life)}>{''.join(texts)}</g>"


def _text(x: float, y: float, text: str, style: str) -> str:
    """Words as wide as the terminal has them, whatever font there is."""
    wide = f' textLength="{len(text) * WIDE:g}"' if len(text) > 1 else ""
    named = f' class="{style}"' if style else ""
    return f'<text x="{x:g}" y="{y:g}"{wide}{named}>{escape(text, quote=False)}</text>'


def _cursor(film: Film, moves: Moves) -> str:
    """A block where the next character comes, outside of the picture where the terminal shows none."""
    places = [
        Place(at, cursor[1] * WIDE, (top + cursor[0]) * HIGH) if cursor else Place(at, -MARGIN, 0)
        for at, top, _, cursor in film.looks
    ]
    return f'<rect y="1" width="8" height="17" fill="#8b95a7" fill-opacity=".7"{moves.moved(places)}/>'


def _key(at: float, name: str, right: float, moves: Moves) -> str:
    """A key in the title bar: what a person presses and a terminal doesn't show."""
    wide = len(name) * WIDE + 16
    cap = f'<rect x="{right - wide:g}" y="10" width="{wide:g}" height="20" rx="5" fill="none" stroke="#76d9e6"/>'
    return f"<g{moves.shown(Life(at, at + PRESSED))}>{cap}{_text(right - wide + 8, 24.5, name, 'cyan')}</g>"
