"""A call as an editor shows it: kind, title, the files it is about, and the change that it makes to one. Nothing is executed."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from acp.helpers import text_block, tool_content, tool_diff_content
from acp.schema import ContentToolCallContent, FileEditToolCallContent, ToolCallLocation, ToolKind

from treadle.core.calls import Result
from treadle.core.tool import Tool
from treadle.files.problems import WorkspaceProblem
from treadle.files.workspace import Workspace
from treadle.guard.visible_text import make_visible
from treadle.toolsets.workspace.file_edits import find_edit
from treadle.toolsets.workspace.tools import TOOLSET

MAX_TITLE = 120  # characters
MAX_TEXT = 50_000  # characters of a result; the journal has the rest
SEARCHES = frozenset(("search", "grep", "find_files", "find_definition", "navigate", "list_folder"))
COMMANDS = frozenset(("shell", "checks", "checks-unsandboxed", "git"))
SESSION_KINDS: dict[str, ToolKind] = {"propose_plan": "switch_mode", "update_tasks": "think"}
SUBJECTS = ("path", "command", "pattern", "name", "query", "url", "directory")  # the argument that a call is about, best first
LINES = ("start_line", "line_number", "line")

CallContent = ContentToolCallContent | FileEditToolCallContent


class CallPresenter:
    """Presents the calls of one session. `tools` returns the tools that it has now."""

    def __init__(self, workspace: Workspace, tools: Callable[[], Sequence[Tool]]) -> None:
        self._workspace = workspace
        self._tools = tools

    def kind(self, name: str, arguments: dict[str, Any]) -> ToolKind:
        """Return the kind of a call, by which an editor chooses an icon."""
        tool = self._find(name)
        if tool is None:
            return "other"
        if name in SESSION_KINDS:
            return SESSION_KINDS[name]
        effect = tool.effect_of(arguments)
        if tool.toolset == TOOLSET:
            return _search_or_read(name) if effect == "read" else "edit" if effect == "write" else "delete"
        if tool.toolset in COMMANDS:
            return "execute"
        if effect == "read":
            return "fetch" if tool.sends_to else "read"
        return "delete" if effect == "destroy" else "other"

    def title(self, name: str, arguments: dict[str, Any]) -> str:
        """Return a line that says what a call does: its tool, and what it is about."""
        action = arguments.get("action")
        about = next((arguments[key] for key in SUBJECTS if isinstance(arguments.get(key), str) and arguments[key]), "")
        words = " ".join([name, *([action] if isinstance(action, str) else [])])
        line = " ".join(make_visible(f"{words}: {about}" if about else words).split())
        return line if len(line) <= MAX_TITLE else f"{line[: MAX_TITLE - 2]} …"

    def locations(self, name: str, arguments: dict[str, Any]) -> list[ToolCallLocation]:
        """Return the file that a call of a workspace tool is about. One outside of the workspace is none."""
        tool, path = self._find(name), arguments.get("path")
        if tool is None or tool.toolset != TOOLSET or not isinstance(path, str) or not path:
            return []
        try:
            where = self._workspace.relative(path)
        except WorkspaceProblem:
            return []
        line = next((arguments[key] for key in LINES if isinstance(arguments.get(key), int)), None)
        return [ToolCallLocation(path=str(self._workspace.folder / where), line=line if line is None or line > 0 else None)]

    def edit(self, name: str, arguments: dict[str, Any]) -> list[CallContent]:
        """Return the change that a call would make to a file, as a diff; empty where it makes none."""
        tool = self._find(name)
        if tool is None or tool.toolset != TOOLSET or tool.effect_of(arguments) == "read":
            return []
        found = find_edit(self._workspace, name, arguments)
        if found is None:
            return []
        return [tool_diff_content(str(self._workspace.folder / found.path), found.after, found.before)]

    def _find(self, name: str) -> Tool | None:
        return next((tool for tool in self._tools() if tool.name == name), None)


def _search_or_read(name: str) -> ToolKind:
    return "search" if name in SEARCHES else "read"


def text_content(text: str) -> list[CallContent]:
    """Return a text as the content of a call; a long one is cut."""
    if not text:
        return []
    more = len(text) - MAX_TEXT
    shown = text if more <= 0 else f"{text[:MAX_TEXT]}\n[… {more:,} more characters aren't shown …]"
    return [tool_content(text_block(shown))]


def result_content(result: Result) -> list[CallContent]:
    """Return what a call has returned; media are replaced by labels."""
    return text_content("\n".join([result.content, *[media.label for media in result.media]]).strip())


def arguments_content(arguments: dict[str, Any]) -> list[CallContent]:
    """Return all arguments of a call, for the user who approves it, with every character visible."""
    return text_content(make_visible(msgspec.json.format(msgspec.json.encode(arguments, enc_hook=repr)).decode()))
