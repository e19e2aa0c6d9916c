"""Tools that take long at their first call, for tests of what is shown meanwhile and of interruptions."""

import asyncio
from pathlib import Path

from treadle import tool


def _is_first(marker: Path) -> bool:
    """Whether this is the first call, which leaves a mark."""
    first = not marker.exists()
    marker.touch()
    return first


async def _wait_once(marker: str) -> str:
    """The first call never returns; those after it do."""
    if _is_first(Path(marker)):
        await asyncio.Event().wait()
    return "done"


@tool(effect="read")
async def look(marker: str) -> str:
    """Look, for a long time."""
    return await _wait_once(marker)


@tool(effect="write")
async def change(marker: str) -> str:
    """Change something, for a long time."""
    return await _wait_once(marker)
