"""How much of an outline is written down, step by step from everything to next to nothing.

`compact` takes the first step that fits.
"""

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

_ALL = 1_000_000


class Told(Struct, frozen=True):
    """What is told of nodes side by side: characters of their comments, how much of their signatures, and how many of them.

    `sharing` is how many lines a node may have to share a line of the outline with those beside it; none where it is 0.
    """

    comment: int = 80
    signature: Literal["whole", "short", "name"] = "whole"
    sharing: int = 0
    most: int = _ALL


class Detail(Struct, frozen=True):
    """What is told of nodes at the top, of members and of imports, and how many nodes are named on a line that they share."""

    at_top: Told = Told()
    of_members: Told = Told()
    import_names: bool = True
    most_imports: int = _ALL
    most_on_line: int = _ALL
    statements: bool = True


def _steps() -> tuple[Detail, ...]:
    """Comments go first, then parameters, then the members of what has most of them, at last whole definitions."""
    steps = [Detail()]

    def then(top: dict[str, Any] | None = None, members: dict[str, Any] | None = None, **changes: Any) -> None:
        last = steps[-1]
        steps.append(
            replace(
                last, at_top=replace(last.at_top, **(top or {})), of_members=replace(last.of_members, **(members or {})), **changes
            )
        )

    then({"sharing": 1}, {"sharing": 1, "comment": 50}, most_imports=60)
    then({"comment": 60}, {"comment": 30})
    then({}, {"comment": 0}, most_imports=40)
    then({"comment": 40}, most_on_line=40)
    then({"comment": 0}, import_names=False)
    then({}, {"signature": "short"}, most_on_line=25)
    then({"signature": "short"}, most_imports=20)
    then({}, {"signature": "name"})
    then({}, {"sharing": 6})
    then({"signature": "name"}, most_on_line=15)
    then({}, {"sharing": 15})
    for most in (60, 30, 15, 8, 4, 2, 0):
        then({}, {"most": most}, most_on_line=min(steps[-1].most_on_line, 2 + most))
    then(most_imports=8, statements=False)
    then(most_imports=0, most_on_line=1)
    for most in (1000, 700, 500, 350, 250, 180, 120, 90, 60, 45, 30, 20, 14, 9, 6, 4, 2, 1):
        then({"most": most})
    return tuple(steps)


STEPS = _steps()
