"""What was disarmed after a command, in sentences for a model. Pure."""

from collections.abc import Sequence

from treadle.files.problems import shown
from treadle.toolsets.sandbox.values import Ran

GIT_TOOL = "Stage, commit and change branches with the git tool; ask the person for what it doesn't do."
_NAMED = 5


def disarmed(ran: Ran) -> list[str]:
    """A sentence for each kind of thing; none where nothing was left."""
    sentences: list[str] = []
    if ran.set_aside:
        sentences.append(f"Git could run programs by the settings of {_named(ran.set_aside)}, so it was renamed. {GIT_TOOL}")
    if ran.stripped:
        sentences.append(f"No program may run as its owner: that bit was taken from {_named(ran.stripped)}.")
    return sentences


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return f"{', '.join(map(shown, paths[:_NAMED]))}{more}"
