"""A person's decision about a waiting call, as a request body: shared by every route that takes one."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from treadle.core.calls import Settling
from treadle.core.grants import ArgumentPattern, Scope
from treadle.engine.setup import Answer

Became = Annotated[
    Settling | None,
    Meta(description="The outcome of a call that is `unclear`: it happened, it did not, or it is to be tried again."),
]


DecisionScope = Annotated[
    Scope, Meta(description="What an approval allows: this call, calls like it in this conversation, or always.")
]
DecisionPattern = Annotated[
    dict[str, Annotated[str, Meta(max_length=10_000)] | ArgumentPattern] | None,
    Meta(description='Which calls are like it, by argument: `{"command": "pytest *"}`; else the first of `patterns`.'),
]


class Decision(Struct, frozen=True, kw_only=True):
    """Whether a call may run (`approved`); or, where its outcome is `unclear`, its outcome (`settled`). One of them."""

    approved: Annotated[bool | None, Meta(description="Whether it may run.")] = None
    settled: Became = None
    digest: Annotated[str, Meta(description="That of the approval, so that what was shown is what is run.", min_length=1)]
    reason: Annotated[str, Meta(description="Why not, or its result; for the model.", max_length=10_000)] = ""
    scope: DecisionScope = "once"
    pattern: DecisionPattern = None

    def __post_init__(self) -> None:
        if (self.approved is None) == (self.settled is None):
            raise ValueError("say `approved`, or `settled` where the call is `unclear`, and not both")

    @property
    def runs(self) -> bool:
        """Whether the call then runs."""
        return self.approved is True or self.settled == "again"

    def answer(self, by: str, arguments: dict[str, Any] | None = None) -> Answer:
        """Return the decision as an answer by this user."""
        return Answer(self.approved is True, by, self.reason, arguments, self.settled, self.scope, self.pattern)
