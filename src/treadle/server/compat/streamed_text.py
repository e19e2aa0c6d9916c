"""Streamed text that can't be taken back: a retried reply continues where the first attempt broke off. Pure.

Where the retry differs, it is sent from its beginning, after a gap, so that it can be read.
"""

from treadle.server.compat.answer import SEPARATOR


class StreamedText:
    """The text of one turn, reply by reply."""

    def __init__(self) -> None:
        self._has_words = False  # of any reply
        self._said = ""  # of the reply under way, as listeners have it
        self._heard = 0  # characters of it that were said before, and are now said again
        self._is_again = False  # whether the next request is another try

    def start_request(self) -> None:
        """Start a request: what comes is another reply, or a retry of the same one."""
        if not self._is_again:
            self._said = ""
        self._heard, self._is_again = 0, False

    def mark_retry(self) -> None:
        """Mark the next reply as a retry."""
        self._is_again = True

    def told(self, text: str) -> str:
        """Return what to send for a piece of the reply: empty, where it was sent already."""
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
        """Add to the reply; its first text comes after a gap if there was another before."""
        gap = SEPARATOR if not self._said and self._has_words and text else ""
        self._said += text
        self._heard = len(self._said)
        self._has_words = self._has_words or bool(text)
        return gap + text
