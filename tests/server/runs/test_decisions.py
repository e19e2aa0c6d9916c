"""Past decisions about calls: from the journals, newest first, of the requester's own runs alone."""

import asyncio

from server.pages.shop import ORDER, Shop, clerk
from server.test_settings import own, serving, until  # noqa: F401 - a fixture
from treadle.core.calls import Allow, Ask, Call
from treadle.core.entries import Approved, Judged, Previewed, Refused, Settled, Unclear
from treadle.server.runs.decisions import find_decisions
from treadle.stores.users import Users
from treadle.testing import calls


def decisions(*entries):
    return find_decisions("r", list(entries), root="r", assistant="shop", title="Order.")


def test_a_decision_says_who_when_what_and_how_long_it_waited():
    call = Call("c", "order", {"token": "sk-proj-abcdefghijklmnopqrstuv"})
    judged = [Judged(call=call, verdict=Ask(reason="x"), at=10.0), Previewed(call_id="c", text="Orders.", at=11.0)]
    [found] = decisions(*judged, Approved(call_id="c", by="anna", arguments={"a": 1}, at=25.0))
    assert (found.outcome, found.by, found.at, found.waited, found.edited, found.preview) == (
        "approved",
        "anna",
        25.0,
        15.0,
        True,
        "Orders.",
    )
    assert "sk-proj" not in str(found.arguments)
    [found] = decisions(*judged, Refused(call_id="c", by="anna", reason="No.", at=11.0))
    assert (found.outcome, found.reason, found.waited) == ("denied", "No.", 1.0)


def test_what_a_grant_answered_is_no_decision_and_what_was_settled_is_one():
    call = Call("c", "order", {})
    assert decisions(Judged(call=call, verdict=Ask(reason="x")), Approved(call_id="c", covered="grant")) == []
    unclear = [
        Judged(call=call, verdict=Allow(), at=1.0),
        Unclear(call_id="c", at=5.0),
        Settled(call_id="c", said="happened", at=8.0),
    ]
    [found] = decisions(*unclear)
    assert (found.outcome, found.waited) == ("happened", 3.0)


def test_history_is_paged_and_each_users_own(tmp_path):
    users = Users(tmp_path / "users.db")
    tokens = {name: users.add(name) for name in ("anna", "ben")}

    async def go():
        shop = Shop(tmp_path)
        model = clerk(*[each for number in (1, 2) for each in (calls(("order_items", {**ORDER, "amount": number})), "Done.")])
        async with serving(tmp_path, shop.assistant, users=users, model=model) as ask:
            assert (await ask("GET", "/api/approvals/history", token=tokens["anna"]))[1] == {"decisions": [], "next": 0}
            for number in (1, 2):
                run = (await ask("POST", "/api/runs", {"assistant": "shop", "message": "Order."}, token=tokens["anna"]))[1][
                    "run_id"
                ]
                await until(ask, run, "waiting", tokens["anna"])
                [waiting] = (await ask("GET", "/api/approvals", token=tokens["anna"]))[1]["approvals"]
                assert waiting["effect"] == "write"
                said = {"approved": number == 1, "digest": waiting["digest"], "reason": "" if number == 1 else "No."}
                path = f"/api/runs/{run}/approvals/{waiting['call_id']}"
                assert (await ask("POST", path, said, token=tokens["ben"]))[0] == 404
                await ask("POST", path, said, token=tokens["anna"])
                await until(ask, run, "answered", tokens["anna"])
            _, first = await ask("GET", "/api/approvals/history?limit=1", token=tokens["anna"])
            _, second = await ask("GET", f"/api/approvals/history?limit=1&before={first['next']}", token=tokens["anna"])
            return first["decisions"] + second["decisions"], (await ask("GET", "/api/approvals/history", token=tokens["ben"]))[1]

    mine, theirs = asyncio.run(go())
    assert [(each["outcome"], each["by"], each["reason"], each["name"]) for each in mine] == [
        ("denied", "anna", "No.", "order_items"),
        ("approved", "anna", "", "order_items"),
    ]
    assert all(each["waited"] >= 0 and each["assistant"] == "shop" for each in mine)
    assert theirs["decisions"] == []
