"""Stop sequences in streamed text. Pure: the model decides what ends its reply at one."""

from collections.abc import Sequence


class StopSequences:
    """Passes text on up to the first of some stop sequences. Only what may be the beginning of one is held back."""

    def __init__(self, sequences: Sequence[str]) -> None:
        self._sequences = [sequence for sequence in sequences if sequence]
        self._longest = max(map(len, self._sequences), default=0)
        self._held: str = ""
        self.met: bool = False

    def feed(self, text: str) -> str:
        """Return what is certain after this piece; nothing more once a sequence was `met`."""
        if self.met or not self._sequences:
            return "" if self.met else text
        text = self._held + text
        first = min((at for sequence in self._sequences if (at := text.find(sequence)) >= 0), default=-1)
        self.met = first >= 0
        end = first if self.met else self._find_held_start(text)
        self._held = "" if self.met else text[end:]
        return text[:end]

    def close(self) -> str:
        """Return the text that was held back unnecessarily."""
        held, self._held = self._held, ""
        return held

    def _find_held_start(self, text: str) -> int:
        """Return where the longest prefix of a sequence at the end of the text starts."""
        for start in range(max(0, len(text) - self._longest + 1), len(text)):
            if any(sequence.startswith(text[start:]) for sequence in self._sequences):
                return start
        return len(text)
