"""About how many tokens a text has, for a budget. No model's own count: pieces of words, digits, pairs of signs, line ends.

Within a fifth of what a byte-pair tokenizer that takes digits one by one finds in code.
"""

import re

_PIECES = re.compile(r"[A-Z]?[a-z]{1,9}|[A-Z]{1,4}|[^\W\d_]|\d|[^\w\s]{1,2}|\n\s*")
_SAMPLE = 6000  # characters looked at at once
_SAMPLES = 8


def estimated_tokens(text: str) -> int:
    """About how many tokens a model reads for a text. Of a long one, only some stretches are looked at."""
    if len(text) <= _SAMPLE * _SAMPLES:
        return len(_PIECES.findall(text))
    step = len(text) // _SAMPLES
    seen = "".join([text[at : at + _SAMPLE] for at in range(0, step * _SAMPLES, step)])
    return len(_PIECES.findall(seen)) * len(text) // len(seen)
