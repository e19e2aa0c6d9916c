"""Log probabilities of a reply's first token and its alternatives. Two wires report them in the same form."""

from collections.abc import Sequence

from msgspec import Struct


class TokenLogprob(Struct):
    """A token and its alternatives."""

    token: str = ""
    logprob: float | None = None
    top_logprobs: "list[TokenLogprob] | None" = None


def first_token_logprobs(tokens: Sequence[TokenLogprob] | None) -> dict[str, float]:
    """Return the log probability of each candidate for the first token."""
    first = tokens[0] if tokens else TokenLogprob()
    return {token.token: token.logprob for token in first.top_logprobs or () if token.logprob is not None}
