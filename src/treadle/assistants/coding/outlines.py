"""Outlines of files for the coding tools: the reading assistant's, where its grammars are installed."""

from treadle import ToolProblem, TreadleError
from treadle.workspace import Outline


def outlines() -> Outline | None:
    """What makes outlines; None where there are no grammars, so that lines that look like definitions have to do."""
    from importlib.util import find_spec

    return _outline if find_spec("tree_sitter") else None


async def _outline(name: str, content: bytes) -> str:
    from treadle.assistants.reading.files import source_from
    from treadle.assistants.reading.outline.compact import compact
    from treadle.assistants.reading.outline.worker import Outliner

    try:
        async with Outliner() as outliner:
            return compact((await source_from(content, name, "", outliner)).outline)
    except TreadleError as error:
        raise ToolProblem(f"{error} Read the file instead.") from error
