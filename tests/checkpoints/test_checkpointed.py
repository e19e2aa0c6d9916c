"""Before each change a checkpoint, and after a command the files that it changed."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from treadle.checkpoints import Checkpoints
from treadle.core.calls import Call
from treadle.core.context import RunContext
from treadle.core.errors import BadTool
from treadle.tools.tool import tool
from treadle.toolsets.checkpointed import checkpointed
from treadle.toolsets.functions import FunctionToolset


def tools(folder: Path) -> FunctionToolset:
    @tool(effect="read")
    def look() -> str:
        """Look."""
        return "looked"

    @tool(effect="write")
    def write(text: str) -> str:
        """Write."""
        (folder / "a.txt").write_text(text)
        return "wrote"

    return FunctionToolset([look, write], "shell")


def test_a_change_is_preceded_by_a_checkpoint_and_reading_is_not(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("first")

    touched: list[str] = []

    async def work() -> None:
        checkpoints = Checkpoints(folder, tmp_path / "store")
        async with checkpointed(tools(folder), checkpoints, lambda change: touched.extend(change.paths)) as around:
            assert [one.name for one in around.tools()] == ["look", "write"]
            assert await around.call(Call("1", "look", {}), RunContext()) == "looked"
            assert await checkpoints.list() == []
            told = await around.call(Call("2", "write", {"text": "second"}), RunContext())
            assert (told.content, told.data) == ("wrote\n\nModified files: a.txt", {"files": ["a.txt"]})
            assert await around.call(Call("3", "write", {"text": "second"}), RunContext()) == "wrote"
            first, second = await checkpoints.list()
            assert (first.label, second.label) == ("before write", "after write")
            assert touched == ["a.txt"]
            await checkpoints.restore(first.id)
            assert (folder / "a.txt").read_text() == "first"

    asyncio.run(work())


def test_those_that_say_themselves_what_they_change_are_left_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()

    async def work() -> Any:
        async with checkpointed(tools(folder), Checkpoints(folder, tmp_path / "store"), silent=()) as around:
            return await around.call(Call("1", "write", {"text": "x"}), RunContext())

    assert asyncio.run(work()) == "wrote"


def test_what_has_nothing_to_reconcile_says_so(tmp_path: Path) -> None:
    class Bare:
        def tools(self) -> tuple[Any, ...]:
            return ()

    with pytest.raises(BadTool, match="nothing to reconcile"):
        asyncio.run(
            checkpointed(Bare(), Checkpoints(tmp_path, tmp_path.parent / "store")).reconcile(Call("1", "x", {}), RunContext())
        )
