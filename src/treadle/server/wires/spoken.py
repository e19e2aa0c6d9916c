"""What is said on a wire, where nothing can be taken back: a reply that is tried again goes on where the first try broke off. Pure.

Where the second try says something else it is told from its beginning, after a gap, so that it can be read.
"""

from treadle.server.wires.answer import BETWEEN


class Spoken:
    """The words of one turn, reply by reply."""

    def __init__(self) -> None:
        self._has_words = False  # of any reply
        self._said = ""  # of the reply under way, as listeners have it
        self._heard = 0  # characters of it that were said before, and are now said again
        self._is_again = False  # whether the next request is another try

    def asked(self) -> None:
        """A request goes out: what comes is another reply, or the same one once more."""
        if not self._is_again:
            self._said = ""
        self._heard, self._is_again = 0, False

    def failed(self) -> None:
        """It is tried again."""
        self._is_again = True

    def told(self, text: str) -> str:
        """What listeners are told of a piece of the reply: perhaps nothing, if they have it."""
        said, at = self._said, self._heard
        if at >= len(said):
            return self._add(text)
        if said.startswith(text, at):
            self._heard += len(text)
            return ""
        if text.startswith(said[at:]):
            return self._add(text[len(said) - at :])
        self._said = ""
        return self._add(said[:at] + text)

    def _add(self, text: str) -> str:
        """More of the reply; its first words come after a gap if there were others before."""
        gap = BETWEEN if not self._said and self._has_words and text else ""
        self._said += text
        self._heard = len(self._said)
        self._has_words = self._has_words or bool(text)
        return gap + text
