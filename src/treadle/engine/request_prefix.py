"""What each request of a conversation begins with, and a warning where that has changed between two of them.

Providers cache what requests begin with: instructions, tools and earlier messages. Where one of the first two changes, the whole
conversation is read and billed anew. A compaction, another agent and another model begin anew in any case. The engine's own tools
come and go with what they are for, and don't count.
"""

from collections import OrderedDict

from msgspec import Struct

from treadle.core.messages import Summary
from treadle.core.requests import ToolSpec
from treadle.engine.live import LiveRun
from treadle.loop.window import find_summary

MAX_REMEMBERED = 1_000  # conversations of this process
EXCERPT_BEFORE, EXCERPT_AFTER = 30, 50  # characters around a change that are quoted

_CONSEQUENCE = "The provider can't use its cache: it reads the whole conversation anew."


class SentPrefix(Struct):
    """What the last request of a conversation began with, and which changes were reported."""

    instructions: str
    tools: tuple[ToolSpec, ...]
    summary: Summary | None
    reported: frozenset[str] = frozenset()


class PrefixMonitor:
    """Remembers what the last request of each conversation began with."""

    def __init__(self, most: int = MAX_REMEMBERED) -> None:
        self._sent: OrderedDict[tuple[object, ...], SentPrefix] = OrderedDict()
        self._most = most

    def check(self, run: LiveRun) -> str:
        """Return what has changed since the conversation's last request; empty where nothing has, or it was reported before."""
        opened = run.state.opened
        key = (run.id, 0.0 if opened is None else opened.at, run.setup.name, run.setup.model.name)
        now = SentPrefix(run.instructions, _stable_tools(run), find_summary(run.state.history))
        last = self._sent.get(key)
        if last is None or last.summary != now.summary:
            self._remember(key, now)
            return ""
        changes: list[str] = []
        if now.instructions != last.instructions and "instructions" not in last.reported:
            last.reported |= {"instructions"}
            excerpt = run.redactor.text(_excerpt_at_change(last.instructions, now.instructions))
            changes.append(
                f"The instructions have changed since the last request, at «{excerpt}». {_CONSEQUENCE}"
                " What changes, such as the time, is better in a message or in a tool's result."
            )
        if now.tools != last.tools and "tools" not in last.reported:
            last.reported |= {"tools"}
            changes.append(
                f"The tools have changed since the last request: {_describe_tools(last.tools, now.tools)}. {_CONSEQUENCE}"
            )
        last.instructions, last.tools = now.instructions, now.tools
        self._sent.move_to_end(key)
        return " ".join(changes)

    def _remember(self, key: tuple[object, ...], sent: SentPrefix) -> None:
        self._sent[key] = sent
        self._sent.move_to_end(key)
        if len(self._sent) > self._most:
            self._sent.popitem(last=False)


prefixes = PrefixMonitor()  # of this process: a host may make an agent for each turn


def _stable_tools(run: LiveRun) -> tuple[ToolSpec, ...]:
    """Return the tools that every request should have; those that `find_tools` reveals are sent from then on."""
    if len(run.offered) <= run.setup.discover_above:
        return run.catalog.specs(run.offered)
    return run.catalog.specs([name for name in run.offered if name in run.setup.always_offered])


def _excerpt_at_change(before: str, after: str) -> str:
    """Return the words around the first difference, as they are now."""
    at = next((index for index, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), None)
    at = min(len(before), len(after)) if at is None else at
    start = max(at - EXCERPT_BEFORE, 0)
    words = " ".join(after[start : at + EXCERPT_AFTER].split())
    return f"{'…' if start else ''}{words}{'…' if at + EXCERPT_AFTER < len(after) else ''}"


def _describe_tools(before: tuple[ToolSpec, ...], after: tuple[ToolSpec, ...]) -> str:
    old, new = {spec.name: spec for spec in before}, {spec.name: spec for spec in after}
    found = [
        ("added", [name for name in new if name not in old]),
        ("removed", [name for name in old if name not in new]),
        ("described otherwise", [name for name in new if name in old and new[name] != old[name]]),
    ]
    said = [f"{what} {', '.join(names)}" for what, names in found if names]
    return "; ".join(said) or "their order"
