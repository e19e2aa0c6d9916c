"""Remembered approvals as data: which calls a person has allowed in advance, and for how long. Values only.

`guard.grants` decides what a grant covers. One for a conversation is in the journal of its run, one for always in the user's file.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from treadle.core.calls import Effect

Scope = Literal[
    "once",  # this call alone
    "conversation",  # calls like it in the same run
    "always",  # calls like it in all runs of the same agent and user
]
SCOPES: dict[Scope, str] = {"once": "once", "conversation": "for this conversation", "always": "always"}  # as people read it
PatternKind = Literal[
    "equals",  # a text, as it is
    "json",  # any other value, as canonical JSON
    "path",  # a path: `src/**` is everything below a folder, `*` is within one name
    "command",  # a shell line of one command: `pytest *` is its first words, and whatever follows
    "glob",  # a text with `*` and `?`
]


class ArgumentPattern(Struct, frozen=True, forbid_unknown_fields=True):
    """What an argument must be for a grant to cover the call (see `guard.argument_patterns`)."""

    kind: PatternKind
    value: Annotated[str, Meta(max_length=10_000)]


Patterns = dict[str, ArgumentPattern]


class GrantTerms(Struct, frozen=True, omit_defaults=True):
    """What an approval of a call can be remembered for: calls of the same tool of this agent, with at most this effect."""

    agent: str
    effect: Effect
    toolset: str = ""


class Grant(Struct, frozen=True, omit_defaults=True):
    """A remembered approval.

    where    what the arguments must be, by name; an argument that isn't named may have any value
    effect   the strongest effect that a call may have
    user     the user whose runs it counts in
    by       who gave it, `at` when, in the run `run_id` about its call `call_id`
    """

    id: str
    tool: str
    scope: Literal["conversation", "always"]
    agent: str
    effect: Effect
    toolset: str = ""
    where: Patterns = {}
    user: str = ""
    by: str = ""
    at: float = 0.0
    run_id: str = ""
    call_id: str = ""
