"""A tool that needs approval: asked before the effect, of each call by itself, and kept to what was decided."""

from typing import Any

from agent_exam.case import Case, Expect, Review
from agent_exam.protocol import Decision
from providers.script import Ask, reply

PAY = Ask("pay", {"order": "A1", "amount": 5})
OTHER = Ask("pay", {"order": "A2", "amount": 7})
DONE = "A1 is paid."
YES = Decision(True)
NO = Decision(False, reason="The budget is spent.")


def _case(name: str, title: str, *replies: Any, reviews: tuple[Review, ...], expect: Expect, edit: bool = False) -> Case:
    return Case(
        f"approval/{name}",
        "approval",
        title,
        replies,
        expect,
        needs=frozenset({"approval", "edit"} if edit else {"approval"}),
        approval=("pay",),
        reviews=reviews,
    )


CASES = (
    _case(
        "approved",
        "asked before the effect; approved, it happens once",
        reply(PAY),
        reply(DONE),
        reviews=(Review({"A1": YES}),),
        expect=Expect(DONE, ("A1 5",)),
    ),
    _case(
        "denied",
        "denied: no effect, and the model reads the reason",
        reply(PAY),
        reply("It wasn't paid."),
        reviews=(Review({"A1": NO}),),
        expect=Expect("It wasn't paid.", reads=NO.reason),
    ),
    _case(
        "edited",
        "approved with other arguments: only those take effect",
        reply(PAY),
        reply(DONE),
        reviews=(Review({"A1": Decision(True, {"order": "A1", "amount": 3})}),),
        expect=Expect(DONE, ("A1 3",)),
        edit=True,
    ),
    _case(
        "restart",
        "approved in a new process",
        reply(PAY),
        reply(DONE),
        reviews=(Review({"A1": YES}, restart=True),),
        expect=Expect(DONE, ("A1 5",)),
    ),
    _case(
        "denied-restart",
        "denied in a new process",
        reply(PAY),
        reply("It wasn't paid."),
        reviews=(Review({"A1": NO}, restart=True),),
        expect=Expect("It wasn't paid.", reads=NO.reason),
    ),
    _case(
        "other-call",
        "an approval of A1 doesn't allow A2, which is denied",
        reply(PAY),
        reply(OTHER),
        reply(DONE),
        reviews=(Review({"A1": YES}), Review({"A2": NO})),
        expect=Expect(DONE, ("A1 5",), reads=NO.reason),
    ),
    _case(
        "same-call-again",
        "the same call again is asked again",
        reply(PAY),
        reply(PAY),
        reply(DONE),
        reviews=(Review({"A1": YES}), Review({"A1": NO})),
        expect=Expect(DONE, ("A1 5",)),
    ),
    _case(
        "parallel",
        "of two parallel calls one is approved and one denied, in a new process",
        reply(PAY, OTHER),
        reply(DONE),
        reviews=(Review({"A1": YES, "A2": NO}, restart=True),),
        expect=Expect(DONE, ("A1 5",), reads=NO.reason),
    ),
    _case(
        "read-not-asked",
        "a tool without approval runs at once, beside one that waits",
        reply(Ask("look_up", {"order": "A1"})),
        reply(PAY),
        reply(DONE),
        reviews=(Review({"A1": YES}),),
        expect=Expect(DONE, ("A1 5",)),
    ),
)
