"""Ids as people type them: whole, by a unique prefix, or the word `last`. Pure; stores say which ids there are."""

from collections.abc import Sequence

from treadle.core.errors import TreadleError

LAST = "last"  # stands for the newest one
MOST_CANDIDATES = 10  # that are listed for an ambiguous prefix


def select_id(typed: str, ids: Sequence[str]) -> list[str]:
    """Return the ids, given newest first, that a typed word may mean: the id itself, the newest, or those it is a prefix of."""
    if typed in ids:
        return [typed]
    if typed == LAST:
        return [*ids[:1]]
    return [each for each in ids if typed and each.startswith(typed)]


def require_one(typed: str, candidates: Sequence[tuple[str, str]], noun: str, error: type[TreadleError]) -> str:
    """Return the only candidate's id; raise `error` where there is none, or several, which it lists with their titles."""
    if len(candidates) == 1:
        return candidates[0][0]
    if not candidates:
        which = f"There is no {noun} yet" if typed == LAST else f"There is no {noun} {typed} here"
        raise error(f"{which}. `treadle {noun}s` lists them.")
    listed = "; ".join(f"{each} ({title})" if title else each for each, title in candidates[:MOST_CANDIDATES])
    more = "; …" if len(candidates) > MOST_CANDIDATES else ""
    raise error(f"Several {noun}s begin with {typed}: {listed}{more}. Type more of the id.")
