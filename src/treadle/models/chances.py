"""How likely a server says the first token of a reply was, and what it might have been instead. Two wires tell it alike."""

from collections.abc import Sequence

from msgspec import Struct


class Token(Struct):
    """A token, and those that might have stood in its place."""

    token: str = ""
    logprob: float | None = None
    top_logprobs: "list[Token] | None" = None


def chances_of(tokens: Sequence[Token] | None) -> dict[str, float]:
    """What the first token might have been, with the logarithm of each one's probability."""
    first = tokens[0] if tokens else Token()
    return {token.token: token.logprob for token in first.top_logprobs or () if token.logprob is not None}
