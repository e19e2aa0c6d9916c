"""The account of calls for people."""

import asyncio
import json

import pytest
from msgspec.structs import replace

import wire
from treadle import allow, deny, open_home, tool
from treadle.core.errors import JournalError
from wire import call

KEY = "AKIA" + "ABCDEFGHIJKLMNOP"


@tool
async def connect(host: str, password: str = "", settings: dict[str, object] | None = None) -> str:
    """Connect."""
    return "x" * 500


@tool(effect="read")
async def fail() -> str:
    """Fail."""
    raise ValueError("no luck")


def kept(story, tmp_path, arguments):
    """The audit of a run with three calls: one that runs, one that fails, one that is denied."""
    home = open_home(tmp_path)
    script = [(call("connect", arguments, id="c1"), call("fail", id="c2"), call("connect", {"host": "bad"}, id="c3")), "done"]

    async def tale(server):
        agent = story.agent(server, [connect, fail], policy=[allow("*"), deny("connect", where={"host": "bad"})])
        await agent.run("Go.", run_id="r", user="ann", journal=home.services())
        return await home.audit.records("r")

    with wire.WireServer(script) as server:
        return home, [link.record for link in asyncio.run(tale(server)) if link.record.stage == "ended"]


def test_audit_record(story, tmp_path):
    _, records = kept(story, tmp_path, {"host": "db"})
    by_call = {record.call_id: record for record in records}
    assert set(by_call) == {"c1", "c2", "c3"}
    ran, failed, denied = by_call["c1"], by_call["c2"], by_call["c3"]
    assert (ran.run_id, ran.user, ran.tool_name, ran.arguments) == ("r", "ann", "connect", {"host": "db"})
    assert (ran.verdict, ran.success, ran.error, len(ran.result_summary)) == ("allow", True, None, 200)
    assert ran.duration_ms > 0
    assert ran.at > 1_700_000_000
    assert 'allow("*")' in ran.verdict_by
    assert (failed.success, failed.result_summary) == (False, "")
    assert "no luck" in failed.error
    assert (denied.verdict, denied.success) == ("deny", False)
    assert 'deny("connect"' in denied.verdict_by


def test_audit_record__whose_answer_it_was(story, tmp_path):
    home = open_home(tmp_path)

    async def tale(server):
        agent = story.agent(server, [connect])
        waiting = await agent.run("Go.", run_id="r", user="ann", journal=home.services())
        yes, no, _ = [approval.call_id for approval in waiting.approvals]
        await agent.approve("r", yes, by="Bo", journal=home.services())
        await agent.deny("r", no, "not there", by="Cy", journal=home.services())
        agent = story.agent(server, [connect], approver=lambda approval: False)
        await agent.resume("r", user="ann", journal=home.services())
        return [link.record for link in await home.audit.records("r") if link.record.stage == "ended"]

    script = [tuple(call("connect", {"host": host}) for host in "abc"), "done"]
    with wire.WireServer(script) as server:
        records = {record.arguments["host"]: record for record in asyncio.run(tale(server))}
    assert [(record.verdict, record.verdict_by, record.user) for _, record in sorted(records.items())] == [
        ("approved", "Bo", "ann"),
        ("refused", "Cy", "ann"),
        ("refused", "A person", "ann"),
    ]
    assert "not there" in records["b"].error


@pytest.mark.parametrize(
    ("tamper", "first_bad"),
    [
        ("UPDATE audit SET line = CAST(replace(CAST(line AS TEXT), 'ann', 'bob') AS BLOB) WHERE seq = 2", 2),
        ("DELETE FROM audit WHERE seq = 1", 1),
        ("DELETE FROM audit WHERE seq = 3", 3),
    ],
)
def test_audit_chain(story, tmp_path, tamper, first_bad):
    home, _ = kept(story, tmp_path, {"host": "db"})

    async def tale():
        before = await home.audit.verify()
        await home.database.submit(lambda connection: connection.execute(tamper))
        return before, await home.audit.verify()

    before, after = asyncio.run(tale())
    assert (before.records, before.broken_at) == (4, None)
    assert after.broken_at == first_bad


def test_audit_first(story, tmp_path):
    """Nothing has an effect before the record that it begins is on disk."""
    home = open_home(tmp_path)
    done = []

    @tool
    async def pay(amount: int) -> str:
        """Pay."""
        found = [link.record.stage for link in await home.audit.records("r")]
        done.append((amount, found))
        return "paid"

    class Full:
        """An audit whose disk is full."""

        def record(self, record):
            return self

        def __await__(self):
            yield from ()
            raise JournalError("The disk is full.")

    def run(amount, run_id, services):
        with wire.WireServer([(call("pay", {"amount": amount}),), "done"]) as server:
            agent = story.agent(server, [pay], policy=[allow("*")])
            return asyncio.run(agent.run("Go.", run_id=run_id, journal=services))

    run(1, "r", home.services())
    with pytest.raises(JournalError, match="full"):
        run(2, "s", replace(home.services(), audit=Full()))
    assert done == [(1, ["begins"])]


def test_audit_anchor(story, tmp_path):
    """A chain that was cut short, or made anew with fitting hashes, doesn't hold with what was noted outside of it."""
    home, _ = kept(story, tmp_path, {"host": "db"})

    def cut(connection):
        connection.execute("DELETE FROM audit WHERE seq > 2")
        connection.execute("UPDATE audit_head SET seq = 2, hash = (SELECT hash FROM audit WHERE seq = 2)")

    async def tale():
        await home.database.submit(cut)
        return await home.audit.verify()

    found = asyncio.run(tale())
    assert (found.broken_at, found.reason) == (3, "the chain ends at record 2, but record 4 was there when run r ended")
    assert (tmp_path / "audit.anchors").stat().st_mode & 0o777 == 0o600


def test_redaction_by_name(story, tmp_path):
    arguments = {
        "host": "db",
        "password": "hunter2-and-more",
        "settings": {"deep": [{"api_key": "abcdefgh12345", "max_tokens": 800, "keyboard": "qwerty-layout"}]},
    }
    _, records = kept(story, tmp_path, arguments)
    record = next(record for record in records if record.call_id == "c1")
    text = json.dumps(record.arguments)
    assert "hunter2" not in text
    assert "abcdefgh12345" not in text
    assert record.arguments["settings"]["deep"][0]["max_tokens"] == 800
    assert record.arguments["settings"]["deep"][0]["keyboard"] == "qwerty-layout"


VALUES = [
    KEY,
    "Bearer " + "abcdef0123456789" * 2,
    "postgres://ann:" + "s3cretword" + "@db.example/shop",
    "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("value", VALUES)
def test_redaction_by_value(story, tmp_path, value):
    secret = {0: KEY, 1: "abcdef0123456789", 2: "s3cretword", 3: "MIIEpAIBAAKCAQEA1234"}[VALUES.index(value)]
    _, records = kept(story, tmp_path, {"host": f"see {value} there", "settings": {"list": [value]}})
    assert secret not in str(records)
    assert next(record for record in records if record.call_id == "c1").arguments["host"].startswith("see ")
