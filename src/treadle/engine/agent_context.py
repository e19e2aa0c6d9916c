"""Loads what a toolset has for the model to read from the start, once for an agent in a run.

The journal has it: a resumed run, and every later turn, sends the same bytes, so that a provider's prompt cache holds. What a file
says later is read by a new run.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from treadle.core.calls import Call
from treadle.core.entries import Informed, Replied
from treadle.core.events import ContextLoaded, ContextSource

if TYPE_CHECKING:
    from treadle.core.messages import ContextItem
    from treadle.engine.live import LiveRun

MAX_CHARACTERS = 40_000  # of all items together
LEAST_CHARACTERS = 1_000  # for a window that is small or wrongly known


async def load_context(run: "LiveRun") -> None:
    """Load the context of the run's agent, unless the journal has it."""
    if run.setup.name not in run.state.context:
        opened = run.state.opened
        if opened is not None and opened.agent == run.setup.name and any(isinstance(entry, Replied) for entry in run.entries):
            return  # it began with none, and a new one would change what later requests begin with
        provide = getattr(run.toolset, "provide_context", None)
        items = None if provide is None else await provide(run.context(Call("", "", {})))
        if items is None:
            return
        shown = [item if run.setup.shows_secrets else _redact(run, item) for item in items if item.text.strip()]
        fitting = fit_items(shown, context_limit(run.setup.model.traits.context))
        run.record(Informed(agent=run.setup.name, items=fitting, at=run.now()))
        if run.watched and fitting:
            run.emit(ContextLoaded(run_id=run.id, sources=context_sources(fitting)))
    from treadle.guard.trust import context_to_prompt

    run.context_text = context_to_prompt(run.state.context[run.setup.name])


def _redact(run: "LiveRun", item: "ContextItem") -> "ContextItem":
    return replace(item, text=run.redactor.text(item.text))


def context_sources(items: "Sequence[ContextItem]") -> tuple[ContextSource, ...]:
    """Return where the items are from, for people."""
    return tuple([ContextSource(item.source, len(item.text), item.untrusted) for item in items])


def context_limit(window: int | None) -> int:
    """Return how many characters of context a model reads: about a quarter of its window, given in tokens."""
    return MAX_CHARACTERS if window is None else max(LEAST_CHARACTERS, min(MAX_CHARACTERS, window))


def fit_items(items: "Sequence[ContextItem]", most: int) -> "tuple[ContextItem, ...]":
    """Return the items with at most so many characters together: the longest ones are cut, with a note that says so."""
    fitting, left = list(items), most
    by_length = sorted(range(len(items)), key=lambda index: len(items[index].text))
    for done, index in enumerate(by_length):
        share = left // (len(items) - done)
        text = items[index].text
        if len(text) > share:
            fitting[index] = replace(items[index], text=f"{text[:share]}\n[… {len(text) - share:,} more characters aren't shown …]")
        left -= min(len(text), share)
    return tuple(fitting)
