"""When a server or a worker is a team's: who is let in, what they may spend, and who hears of it."""

import asyncio
import json

import pytest
from starlette.exceptions import HTTPException

from notifications.receivers import web_receiver
from server.running import Serving, host
from server.test_item_sharing import keys, team
from server.test_oidc import SETTINGS, Forger
from server.test_users import House
from treadle import Agent, Runs, ask, open_home, tool
from treadle.core.entries import Opened
from treadle.core.errors import SettingsError
from treadle.home import close_homes, open_user_home, open_users
from treadle.notifications.notifier import Notifier
from treadle.server.oidc import ProviderIdentity
from treadle.server.oidc_login import admit
from treadle.settings.schema import NotificationSettings, SmtpSettings
from treadle.stores.outbox import Outbox
from treadle.stores.users import USERS_FILE, Users
from treadle.testing import Scripted, calls
from treadle.workers import RunSpec, submit_run
from treadle.workers.dispatcher import WorkerOptions
from treadle.workers.worker import Worker

MODULE = "program_of_a_team"
PROGRAM = """
from treadle import Agent
from treadle.core.requests import Usage
from treadle.testing import Scripted
from treadle.models.scripted import ScriptedReply

reply = ScriptedReply(text="Fine.", usage=Usage(requests=1, input_tokens=10))
agent = Agent(Scripted(reply, reply, reply))
"""


@pytest.fixture
def home(tmp_path):
    yield open_home(tmp_path / "data")
    close_homes()


def test_identity_provider(home):
    users, forger = open_users(home), Forger()
    forger.claims = {"preferred_username": "anna"}
    assert admit(users, forger.redeem(), SETTINGS).name == "anna"
    for wrong in ({"aud": "x"}, {"iss": "https://x.example"}, {"nonce": "x"}, {"exp": 1}):
        forger.claims = wrong
        with pytest.raises(HTTPException):
            forger.redeem()
    with pytest.raises(HTTPException, match="isn't linked"):
        admit(users, ProviderIdentity(SETTINGS.issuer, "another", "anna", ()), SETTINGS)


def test_quota(home, tmp_path, monkeypatch):
    """On a worker; tests/server/test_quotas.py has the faces of a server."""
    settings = tmp_path / "treadle.toml"
    settings.write_text('[quotas.each]\nusers = ["*"]\ntokens = 10\n')
    monkeypatch.setenv("TREADLE_CONFIG", str(settings))
    (tmp_path / f"{MODULE}.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(tmp_path)

    async def story():
        stop, lines = asyncio.Event(), []

        def tell(line):
            lines.append(line)
            if len(lines) == 3:
                stop.set()

        spec = RunSpec(agent=f"{MODULE}:agent")
        runs = [await submit_run(home, spec, "Well?", user=user) for user in ("anna", "anna", "ben")]
        async with asyncio.timeout(60):
            await Worker(home, WorkerOptions(agents=(MODULE,), at_once=1), tell).work(stop)
        return [(await home.journal.info(run_id)).status for run_id in runs], lines

    statuses, lines = asyncio.run(story())
    assert statuses == ["answered", "failed", "answered"]
    assert any("Your 10 tokens of this month are used up" in line for line in lines)


def test_notification(home, monkeypatch):
    @tool(effect="write", retry="once")
    def order(item: str) -> str:
        """Order something."""
        return "ordered"

    monkeypatch.setenv("TREADLE_WEBHOOK_SECRET", "a secret")
    now = [0.0]
    agent = Agent(Scripted(calls(("order", {"item": "gold"})), "Done."), tools=[order], policy=[ask("order")])

    async def story(url, statuses, got):
        channels = {
            "team": NotificationSettings(url=url, private=True),
            "boss": NotificationSettings(url=url, private=True, after_minutes=5),
        }
        notifier = Notifier(channels, SmtpSettings(), "https://t.example", lambda: now[0])
        await notifier.look(home)
        statuses.append(500)
        result = await agent.run("Order.", run_id="r", journal=home.services())
        now[0] = result.approvals[0].asked_at + 5
        assert await notifier.look(home) == 0
        restarted = Notifier(channels, SmtpSettings(), "https://t.example", lambda: now[0])
        now[0] += 60
        assert await restarted.look(home) == 1
        await Runs(home).approve("r", result.approvals[0].call_id)
        await agent.resume("r", journal=home.services())
        now[0] += 600
        assert await restarted.look(home) == 1
        assert await Outbox(home.database).deliveries() == []  # the escalation isn't needed any more
        return [json.loads(body) for _, body in got], [headers["webhook-id"] for headers, _ in got]

    with web_receiver() as (url, got, statuses):
        said, ids = asyncio.run(story(url, statuses, got))
    assert [each["type"] for each in said] == ["run.approval", "run.approval", "run.result"]
    assert ids[0] == ids[1] != ids[2]
    assert "gold" not in json.dumps(said)


def test_service_account(home):
    now = [1_000.0]
    users = Users(home.folder / "users.db", clock=lambda: now[0])
    token = users.add("ci", "reader", service=True, expires=2_000.0)
    assert users.person_of(token).name == "ci"
    with pytest.raises(SettingsError, match="service account"):
        users.begin_session("ci")
    with pytest.raises(SettingsError, match="--expires"):
        users.renew("ci")
    renewed = users.renew("ci", 3_000.0)
    assert users.person_of(token) is None
    now[0] = 3_000.0
    assert users.person_of(renewed) is None


def test_sharing(tmp_path):
    """Reading is all that a share allows, and it ends when it is revoked."""
    users = Users(tmp_path / "data" / USERS_FILE)
    tokens = {
        name: users.add(name, groups=groups) for name, groups in (("anna", []), ("ben", []), ("carl", ["staff"]), ("dora", []))
    }
    lent = host(tmp_path)
    hers = open_user_home(lent.home, "anna")
    for run_id in ("r", "s"):
        asyncio.run(Agent(Scripted("A secret plan.")).run("Plan.", run_id=run_id, journal=hers.services(), user="anna"))

    async def nest():
        await hers.journal.append("nested", 0, [Opened(agent="helper", parent="r", within="c1")])

    asyncio.run(nest())
    with Serving(tmp_path, lent=lent, users=users) as server:
        house = House(server, users)

        def status(name, path, method="GET", **more):
            return house.ask(path, method, tokens[name], **more)[0]

        shares = {"users": ["ben"], "groups": ["staff"]}
        assert status("ben", "/api/runs/r/shares", "PUT", json=shares) == 404
        assert status("anna", "/api/runs/r/shares", "PUT", json={"users": ["nemo"]}) == 422
        assert house.told("/api/runs/r/shares", "PUT", tokens["anna"], json=shares) == shares
        assert house.told("/api/runs/r/shares", token=tokens["anna"]) == shares
        assert [each["run"]["run_id"] for each in house.told("/api/shared", token=tokens["carl"])] == ["r"]
        for name in ("ben", "carl"):
            assert "A secret plan." in json.dumps(house.told("/api/shared/anna/r", token=tokens[name]))
            assert house.told("/api/shared/anna/nested", token=tokens[name])["run"]["parent"] == "r"
            assert [status(name, path) for path in ("/api/shared/anna/s", "/api/runs/r", "/api/shared/..%2Fanna/r")] == [404] * 3
            assert status(name, "/api/runs/r", "DELETE") == 404
            assert status(name, "/api/runs/r/fork", "POST", json={}) == 404
            assert status(name, "/api/shared/anna/r", "DELETE") == 405
        assert (status("dora", "/api/shared/anna/r"), house.told("/api/shared", token=tokens["dora"])) == (404, [])
        users.change("carl", groups=[])
        house.waits_for(404, "/api/shared/anna/r", "GET", tokens["carl"])
        house.told("/api/runs/r/shares", "PUT", tokens["anna"], json={})
        assert [status("ben", f"/api/shared/anna/{run}") for run in ("r", "nested")] == [404, 404]
    close_homes()


def test_sharing_items(tmp_path, monkeypatch):
    """tests/server/test_item_sharing.py has every route."""
    with team(tmp_path, monkeypatch) as (house, (shared, other)):
        course, hidden = keys(house)["Sailing for Beginners"], keys(house)["The Moon and Her Effects"]
        lesson = "/api/courses/lesson?course={}&lesson=1&owner=anna"
        paths = {
            f"/projects/{shared}/shares": [f"/projects/{shared}", f"/projects/{other}"],
            f"/api/courses/shares?course={course}": [lesson.format(course), lesson.format(hidden)],
        }
        for shares, seen in paths.items():
            house.read("anna", shares, "PUT", {"users": ["ben"]})
            assert [[house.status(name, path) for path in seen] for name in ("ben", "dora")] == [[200, 404], [404, 404]]
            house.read("anna", shares, "PUT", {})
            assert house.status("ben", seen[0]) == 404
