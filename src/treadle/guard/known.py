"""Secrets known by their exact value, such as a run's credentials: as they are, and as they look once encoded."""

import re
from binascii import b2a_base64
from collections.abc import Iterable

import msgspec

MASK = "[redacted:known]"
SHORTEST = 4  # shorter ones would mask half of any text
_LEAST_CODED = 8
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")


class Known:
    """Masks known secrets, in whole texts and (as `KnownStream`) in pieces."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets if len(secret) >= SHORTEST for form in _forms(secret)}
        self.forms = tuple(sorted([form for form in forms if form not in MASK], key=lambda form: (-len(form), form)))
        self.longest = max([len(form) for form in self.forms], default=1)
        self.by_letter = {form[0]: [other for other in self.forms if other[0] == form[0]] for form in self.forms}
        self.pattern = re.compile("|".join([re.escape(form) for form in self.forms]) or r"(?!)")

    def mask(self, text: str) -> str:
        """`text` without known secrets."""
        for form in self.forms:
            if form in text:
                return self.pattern.sub(MASK, text)
        return text


class KnownStream:
    """Text that arrives in pieces. Holds back only what may be the beginning of a known secret."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._held = ""

    def feed(self, text: str) -> str:
        """What is certain after this piece."""
        text = self._held + text
        out: list[str] = []
        position, begun = 0, self._begun(text, 0)
        while (found := self._known.pattern.search(text, position)) and found.start() < begun:
            out += (text[position : found.start()], MASK)
            position = found.end()
            begun = max(begun, self._begun(text, position))
        out.append(text[position:begun])
        self._held = text[begun:]
        return "".join(out)

    def close(self) -> str:
        """What is left."""
        held, self._held = self._held, ""
        return self._known.mask(held)

    def _begun(self, text: str, position: int) -> int:
        """Where the earliest secret begins that the text breaks off in."""
        for start in range(max(position, len(text) - self._known.longest + 1), len(text)):
            forms = self._known.by_letter.get(text[start], ())
            if forms and any(form.startswith(text[start:]) for form in forms):
                return start
        return len(text)


def _forms(secret: str) -> set[str]:
    raw = secret.encode(errors="surrogatepass")
    coded = {*_base64(raw), raw.hex(), raw.hex().upper()}
    return {
        secret,
        *_percent(raw),
        *_escaped(secret),
        *[form for form in coded if len(form) >= _LEAST_CODED],
    }


def _base64(raw: bytes) -> set[str]:
    """As it looks inside a longer text, too: at each of three offsets, without the letters that its neighbours share in."""
    forms: set[str] = set()
    for offset in range(3):
        encoded = b2a_base64(bytes(offset) + raw, newline=False).decode().rstrip("=")
        whole = encoded[(0, 2, 3)[offset] : (len(raw) + offset) * 8 // 6]
        forms |= {whole, whole.replace("+", "-").replace("/", "_")}
    return forms


def _percent(raw: bytes) -> set[str]:
    forms: set[str] = set()
    for kept in (_UNRESERVED, _UNRESERVED | {ord("/")}):
        upper = "".join([chr(byte) if byte in kept else f"%{byte:02X}" for byte in raw])
        lower = "".join([chr(byte) if byte in kept else f"%{byte:02x}" for byte in raw])
        forms |= {upper, lower, upper.replace("%20", "+"), lower.replace("%20", "+")}
    return forms


def _escaped(secret: str) -> set[str]:
    """As JSON spells it, with and without letters beyond ASCII, and inside of another JSON text."""
    try:
        once = msgspec.json.encode(secret).decode()[1:-1]
    except UnicodeEncodeError:
        return set()
    return {once, _ascii(once), _again(once), _ascii(_again(once)), _again(_ascii(once))}


def _again(escaped: str) -> str:
    return escaped.replace("\\", "\\\\").replace('"', '\\"')


def _ascii(text: str) -> str:
    return "".join([letter if letter.isascii() else _unicode_escape(letter) for letter in text])


def _unicode_escape(letter: str) -> str:
    units = letter.encode("utf-16-be")
    return "".join([f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2)])
