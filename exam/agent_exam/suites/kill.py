"""Processes killed (SIGKILL) at the points of a run with three payments, and resumed in a new process by the framework's own means.

The payments of A2 and A3 are parallel calls. A run passes that ends with the right answer and has made each payment exactly once.
"""

from agent_exam.case import Case, Expect
from providers.script import Ask, reply

_RUN = (
    reply(Ask("pay", {"order": "A1", "amount": 5})),
    reply(Ask("pay", {"order": "A2", "amount": 7}), Ask("pay", {"order": "A3", "amount": 9})),
    reply("All three are paid."),
)
POINTS = {
    "request 1": "when the first request arrives",
    "before A1": "in the tool, before the first payment",
    "after A1": "in the tool, after the first payment",
    "request 2": "when the second request arrives",
    "before A2": "in a parallel call, before its payment",
    "after A2": "in a parallel call, after its payment",
    "after A3": "in the other parallel call, after its payment",
    "request 3": "when the last request arrives",
}
CASES = tuple(
    Case(
        f"kill/{point.replace(' ', '-').lower()}",
        "kill",
        title,
        _RUN,
        Expect("All three are paid.", ("A1 5", "A2 7", "A3 9")),
        tools=("pay",),
        prompt="Pay the orders A1, A2 and A3.",
        needs=frozenset({"resume"}),
        kill=point,
        positional=True,
    )
    for point, title in POINTS.items()
)
