"""Goes through a text for secrets by their looks and by their names, at once (`masked`) or in pieces (`Scan`). Both give the same.

How pieces work: whether a secret begins at some place is decided by what stands before it and by the letters up to the next
blank, at most `_AHEAD` of them. So only the last word is ever held back. Once a secret has begun, its mask goes out and the
rest of it is swallowed, however long it is.
"""

from collections.abc import Callable
from functools import partial

from treadle.guard.assignments import CONTEXT, Assignments
from treadle.guard.formats import (
    CURL_PASSWORD,
    DISCORD,
    DISCORD_GATE,
    ESCAPE,
    FORMATS,
    NONE,
    PRIVATE_KEY,
    URL_PASSWORD,
    Format,
    Head,
    compiled,
    end_of,
)

_AHEAD = 1024
_SHORTEST = 15  # secret that is known by its looks
_MARKS = ("-----BEGIN", "-----END")  # of a private key
_BEGUN = tuple([mark[:length] for mark in _MARKS for length in range(len(mark) - 1, 0, -1)])
_SLASHES = tuple(["\\" * length for length in range(8, 0, -1)])  # whether these escape a quote, the next letter says

Find = Callable[[int, int], Head | None]  # the first secret at a position or later, looked for from a start on


def mask(kind: str) -> str:
    """What takes a secret's place."""
    return f"[redacted:{kind}]"


def finds(text: str, assignments: Assignments, limit: int) -> list[Find]:
    """What is worth looking for in a text, up to `limit`; mostly nothing. The first wins where two begin at the same place."""
    found: list[Find] = []
    if "://" in text and "@" in text:
        found.append(partial(_find, URL_PASSWORD, text, limit))
    low = _lowered(text)
    if _may_assign(low) and (searches := assignments.searches(low)):
        found.append(partial(assignments.find, text, low, searches, limit))
    if len(text) < _SHORTEST:
        return found
    forms = [form for form in (CURL_PASSWORD, PRIVATE_KEY) if form.triggers[0] in text]
    long = " ".join([word for word in text.split() if len(word) >= _SHORTEST])  # no other has a blank in it
    forms += [form for letter, gates in _GATES if letter in long for trigger, form in gates if trigger in long]
    if long.count(".") > 1 and compiled(DISCORD_GATE).search(long):
        forms.append(DISCORD)
    return [*found, *[partial(_find, form, text, limit) for form in dict.fromkeys(forms)]] if forms else found


def _may_assign(low: str) -> bool:
    return ":" in low or "=" in low or ">" in low or "--" in low or "%3" in low or "bearer" in low or "basic" in low


def _gates() -> list[tuple[str, list[tuple[str, Format]]]]:
    """Triggers by a letter that few texts have, so that most are never looked for."""
    groups: dict[str, list[tuple[str, Format]]] = {}
    for form in FORMATS:
        groups.setdefault(form.rare, []).extend([(trigger, form) for trigger in form.triggers])
    return list(groups.items())


_GATES = _gates()


def _lowered(text: str) -> str:
    """In small letters, each at its place: only ASCII, since others may become two."""
    return text.lower() if text.isascii() else text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _find(form: Format, text: str, limit: int, start: int, position: int) -> Head | None:
    search = compiled(form.head).search
    found = search(text, start)
    while found and found.start() < limit:
        begin, end = found.span(1)
        if begin >= position and (not form.alone or _stands_alone(text, begin)):
            return Head(begin, end, form.kind, form.tail, found.start() + 1)
        found = search(text, found.start() + 1)
    return None


def _stands_alone(text: str, begin: int) -> bool:
    before = text[max(0, begin - 6) : begin]
    return not (before[-1:].isascii() and before[-1:].isalnum()) or compiled(ESCAPE + r"\Z").search(before) is not None


class _Ahead:
    """The next secret of each kind, so that no stretch is searched twice."""

    def __init__(self, kinds: list[Find], position: int = 0) -> None:
        start = max(0, position - CONTEXT)
        self._next = [(find, find(start, position)) for find in kinds]

    def after(self, position: int) -> Head | None:
        """The first secret at `position` or later."""
        first: Head | None = None
        for place, (find, head) in enumerate(self._next):
            if head is not None and head.start < position:
                head = find(max(head.after, position - CONTEXT), position)
                self._next[place] = (find, head)
            if head is not None and (first is None or head.start < first.start):
                first = head
        return first


def masked(text: str, kinds: list[Find]) -> str:
    """The whole text, with the secrets of these kinds masked."""
    ahead = _Ahead(kinds)
    out: list[str] = []
    position = 0
    while head := ahead.after(position):
        out += (text[position : head.start], mask(head.kind))
        position = end_of(head.tail, text, head.end, len(text))
    out.append(text[position:])
    return "".join(out)


class Scan:
    """A text that arrives in pieces."""

    def __init__(self, assignments: Assignments) -> None:
        self._assignments = assignments
        self._text = ""  # what was let out but may still name what comes, then what is held back
        self._position: int = 0
        self._tail: str = NONE

    def feed(self, piece: str, *, final: bool = False) -> str:
        """What is certain after this piece."""
        text = self._text = self._text + piece
        settled = len(text) if final else self._settled()
        if settled == self._position and self._tail == NONE and not final:
            return ""  # nearly every piece of a long word
        out: list[str] = []
        ahead: _Ahead | None = None
        while not self._swallowing(final):
            ahead = ahead or _Ahead(finds(text, self._assignments, settled), self._position)
            head = ahead.after(self._position)
            if head is None or head.start >= settled:
                out.append(text[self._position : settled])
                self._position = max(self._position, settled)
                break
            out += (text[self._position : head.start], mask(head.kind))
            self._position, self._tail = head.end, head.tail
        self._forget()
        return "".join(out)

    def _settled(self) -> int:
        """Up to where nothing can begin any more that isn't known to."""
        text = self._text
        recent = text[max(self._position, len(text) - _AHEAD) :]
        if not recent or recent[-1].isspace():
            return len(text)
        return len(text) - len(recent.rsplit(None, 1)[-1])

    def _swallowing(self, final: bool) -> bool:
        """Swallow what belongs to the secret that has begun; whether more of it may come."""
        if self._tail == NONE:
            return False
        text = self._text
        stop = len(text) if final else max(self._position, len(text) - _begun(text))
        self._position = end_of(self._tail, text, self._position, stop)
        rest = text[self._position : min(stop, self._position + 2)]
        if not final and rest in ("", "."):  # what a dot belongs to, the next letter says
            return True
        self._tail = NONE
        return False

    def _forget(self) -> None:
        surplus = self._position - CONTEXT
        if surplus > 0:
            self._text = self._text[surplus:]
            self._position = CONTEXT


def _begun(text: str) -> int:
    """How much of a mark around private keys, or of an escaped quote, the text breaks off in."""
    if not text.endswith(("-", "\\", *_BEGUN)):
        return 0
    return max([len(piece) for piece in (*_BEGUN, *_SLASHES) if text.endswith(piece)])
