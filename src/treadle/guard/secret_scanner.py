"""Scans text for secrets by format and by name, at once (`mask_secrets`) or in chunks (`SecretScanner`), with the same result.

How chunks work: whether a secret begins at a position is decided by what stands before it and by the characters up to the
next blank, at most `_AHEAD` of them. So only the last word is ever held back. Once a secret has begun, its mask is emitted
and the rest of it is swallowed, however long it is.
"""

from collections.abc import Callable
from functools import partial

from treadle.guard.assignments import CONTEXT, Assignments
from treadle.guard.secret_formats import (
    CURL_PASSWORD,
    DISCORD,
    DISCORD_GATE,
    ESCAPE,
    FORMATS,
    NONE,
    PRIVATE_KEY,
    URL_PASSWORD,
    SecretFormat,
    SecretHead,
    compile_pattern,
    match_end,
)

_AHEAD = 1024
_SHORTEST = 15  # secret that is known by its looks
_MARKS = ("-----BEGIN", "-----END")  # of a private key
_BEGUN = tuple([mark[:length] for mark in _MARKS for length in range(len(mark) - 1, 0, -1)])
_SLASHES = tuple(["\\" * length for length in range(8, 0, -1)])  # whether these escape a quote, the next letter says

Finder = Callable[[int, int], SecretHead | None]  # the first secret at a position or later, looked for from a start on


def format_mask(kind: str) -> str:
    """Return the replacement of a secret."""
    return f"[redacted:{kind}]"


def select_finders(text: str, assignments: Assignments, limit: int) -> list[Finder]:
    """Return the finders that apply to a text, up to `limit`; mostly none. The first wins where two begin at the same position."""
    found: list[Finder] = []
    if "://" in text and "@" in text:
        found.append(partial(_find_format, URL_PASSWORD, text, limit))
    low = _to_lower(text)
    if _may_assign(low) and (searches := assignments.searches(low)):
        found.append(partial(assignments.find, text, low, searches, limit))
    if len(text) < _SHORTEST:
        return found
    forms = [form for form in (CURL_PASSWORD, PRIVATE_KEY) if form.triggers[0] in text]
    long = " ".join([word for word in text.split() if len(word) >= _SHORTEST])  # no other has a blank in it
    if long:
        forms += [form for letter, gates in _GATES if letter in long for trigger, form in gates if trigger in long]
    if long.count(".") > 1 and compile_pattern(DISCORD_GATE).search(long):
        forms.append(DISCORD)
    return [*found, *[partial(_find_format, form, text, limit) for form in dict.fromkeys(forms)]] if forms else found


def _may_assign(low: str) -> bool:
    return ":" in low or "=" in low or ">" in low or "--" in low or "%3" in low or "bearer" in low or "basic" in low


def _group_triggers() -> list[tuple[str, list[tuple[str, SecretFormat]]]]:
    """Return the triggers grouped by a letter that few texts have, so that most are never searched."""
    groups: dict[str, list[tuple[str, SecretFormat]]] = {}
    for form in FORMATS:
        groups.setdefault(form.rare, []).extend([(trigger, form) for trigger in form.triggers])
    return list(groups.items())


_GATES = _group_triggers()


def _to_lower(text: str) -> str:
    """Return the text in lower case, with positions unchanged: only ASCII, since other letters may become two."""
    return text.lower() if text.isascii() else text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def _find_format(form: SecretFormat, text: str, limit: int, start: int, position: int) -> SecretHead | None:
    search = compile_pattern(form.head).search
    found = search(text, start)
    while found and found.start() < limit:
        begin, end = found.span(1)
        if begin >= position and (not form.alone or _stands_alone(text, begin)):
            return SecretHead(begin, end, form.kind, form.tail, found.start() + 1)
        found = search(text, found.start() + 1)
    return None


def _stands_alone(text: str, begin: int) -> bool:
    before = text[max(0, begin - 6) : begin]
    return not (before[-1:].isascii() and before[-1:].isalnum()) or compile_pattern(ESCAPE + r"\Z").search(before) is not None


class _Lookahead:
    """The next secret of each kind, so that no stretch is searched twice."""

    def __init__(self, kinds: list[Finder], position: int = 0) -> None:
        start = max(0, position - CONTEXT)
        self._next = [(find, find(start, position)) for find in kinds]

    def after(self, position: int) -> SecretHead | None:
        """Return the first secret at `position` or later."""
        first: SecretHead | None = None
        for place, (find, head) in enumerate(self._next):
            if head is not None and head.start < position:
                head = find(max(head.after, position - CONTEXT), position)
                self._next[place] = (find, head)
            if head is not None and (first is None or head.start < first.start):
                first = head
        return first


def mask_secrets(text: str, kinds: list[Finder]) -> str:
    """Return the whole text, with the secrets of these kinds masked."""
    ahead = _Lookahead(kinds)
    out: list[str] = []
    position = 0
    while head := ahead.after(position):
        out += (text[position : head.start], format_mask(head.kind))
        position = match_end(head.tail, text, head.end, len(text))
    out.append(text[position:])
    return "".join(out)


class SecretScanner:
    """A scanner for text that arrives in chunks."""

    def __init__(self, assignments: Assignments) -> None:
        self._assignments = assignments
        self._text = ""  # what was let out but may still name what comes, then what is held back
        self._position: int = 0
        self._tail: str = NONE

    def feed(self, piece: str, *, final: bool = False) -> str:
        """Return what is certain after this chunk."""
        text = self._text = self._text + piece
        settled = len(text) if final else self._settled_end()
        if settled == self._position and self._tail == NONE and not final:
            return ""  # nearly every piece of a long word
        out: list[str] = []
        ahead: _Lookahead | None = None
        while not self._swallow(final):
            ahead = ahead or _Lookahead(select_finders(text, self._assignments, settled), self._position)
            head = ahead.after(self._position)
            if head is None or head.start >= settled:
                out.append(text[self._position : settled])
                self._position = max(self._position, settled)
                break
            out += (text[self._position : head.start], format_mask(head.kind))
            self._position, self._tail = head.end, head.tail
        self._drop_context()
        return "".join(out)

    def _settled_end(self) -> int:
        """Return the position up to which no unknown secret can begin any more."""
        text = self._text
        recent = text[max(self._position, len(text) - _AHEAD) :]
        if not recent or recent[-1].isspace():
            return len(text)
        return len(text) - len(recent.rsplit(None, 1)[-1])

    def _swallow(self, final: bool) -> bool:
        """Swallow the rest of the secret that has begun; return whether more of it may come."""
        if self._tail == NONE:
            return False
        text = self._text
        stop = len(text) if final else max(self._position, len(text) - _partial_length(text))
        self._position = match_end(self._tail, text, self._position, stop)
        rest = text[self._position : min(stop, self._position + 2)]
        if not final and rest in ("", "."):  # what a dot belongs to, the next letter says
            return True
        self._tail = NONE
        return False

    def _drop_context(self) -> None:
        surplus = self._position - CONTEXT
        if surplus > 0:
            self._text = self._text[surplus:]
            self._position = CONTEXT


def _partial_length(text: str) -> int:
    """Return how much of a private key's marker, or of an escaped quote, the text ends in the middle of."""
    if not text.endswith(("-", "\\", *_BEGUN)):
        return 0
    return max([len(piece) for piece in (*_BEGUN, *_SLASHES) if text.endswith(piece)])
