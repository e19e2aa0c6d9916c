"""Notifications of approvals that wait and of results: what is sent where, again after a failure, and never lost."""

import asyncio
import base64
import hmac
import json
import stat
from email import message_from_string, policy
from hashlib import sha256

import pytest

from notifications.receivers import mail_receiver, web_receiver
from postgres import database as postgres_database
from treadle import Agent, Answer, Runs, ask, open_home, tool
from treadle.admin.deletion import delete_from_home
from treadle.core.errors import SettingsError
from treadle.home import close_homes
from treadle.notifications.message import Notification, WaitingApproval, to_email, to_slack, webhook_headers
from treadle.notifications.notifier import DELAYS, Notifier, make_notifier, run_notifier
from treadle.settings.schema import NotificationSettings, ServerSettings, Settings, SmtpSettings
from treadle.stores.outbox import Outbox
from treadle.testing import Scripted, calls

SECRET = "a secret of a webhook"


@tool(effect="write", retry="once")
def order(item: str) -> str:
    """Order something."""
    return "ordered"


class Clock:
    def __init__(self, now=None):
        from time import time

        self.now = now or time()

    def __call__(self):
        return self.now


@pytest.fixture(params=["files", "postgresql"])
def home(request, tmp_path):
    if request.param == "files":
        yield open_home(tmp_path / "data")
        close_homes()
        return
    with postgres_database() as url:
        yield open_home(tmp_path / "data", database=url)
        close_homes()


@pytest.fixture
def files(tmp_path):
    yield open_home(tmp_path / "data")
    close_homes()


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    monkeypatch.setenv("TREADLE_WEBHOOK_SECRET", SECRET)


def asks(home, run_id="r", user="anna"):
    """A run that waits for approval, and its agent."""
    agent = Agent(Scripted(calls(("order", {"item": "tea"})), "Ordered tea."), tools=[order], policy=[ask("order")], name="shop")
    result = asyncio.run(agent.run("Order some <tea>.", run_id=run_id, journal=home.services(), user=user))
    assert result.stopped == "waiting"
    return agent


def answers(home, agent, run_id="r"):
    async def story():
        (approval,) = await Runs(home).approvals(run_id)
        await Runs(home).answer(run_id, approval.call_id, Answer(approved=True))
        return await agent.resume(run_id, journal=home.services())

    return asyncio.run(story())


def hook(url, **more):
    return NotificationSettings(**{"url": url, "private": True, **more})


def notifier(clock=None, smtp=None, **channels):
    return Notifier(channels, smtp or SmtpSettings(), "https://treadle.example.org/", clock or Clock())


def looks(kept, home):
    return asyncio.run(kept.look(home))


def left(home):
    return asyncio.run(Outbox(home.database).deliveries())


def verified(headers, body):
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    wanted = base64.b64encode(hmac.new(SECRET.encode(), signed, sha256).digest()).decode()
    return headers["webhook-signature"] == f"v1,{wanted}"


def test_an_approval_and_a_result_are_sent_once_each_and_signed(home):
    with web_receiver() as (url, got, _):
        kept = notifier(team=hook(url))
        assert looks(kept, home) == 0
        agent = asks(home)
        kept._clock.now += 10
        assert (looks(kept, home), looks(kept, home)) == (1, 0)
        assert answers(home, agent).stopped == "answered"
        kept._clock.now += 10
        assert (looks(kept, home), looks(kept, home)) == (1, 0)
    assert all(verified(headers, body) for headers, body in got)
    first, second = [json.loads(body) for _, body in got]
    assert (first["type"], second["type"]) == ("run.approval", "run.result")
    data = first["data"]
    assert data["approvals"][0]["tool"] == "order"
    assert (data["url"], data["user"], data["agent"]) == ("https://treadle.example.org/runs/r", "anna", "shop")
    assert (second["data"]["status"], second["data"]["answer"]) == ("answered", "")
    assert b'"item"' not in got[0][1]  # no arguments: the page shows them to users who sign in
    assert left(home) == []


def test_a_failed_delivery_is_tried_again_with_the_same_id_also_after_a_restart(home):
    clock = Clock()
    with web_receiver() as (url, got, statuses):
        statuses += [500, 503]
        first = notifier(clock, team=hook(url))
        looks(first, home)
        asks(home)
        clock.now += 5
        assert looks(first, home) == 0
        (waiting,) = left(home)
        assert (waiting.tries, waiting.due) == (1, clock.now + DELAYS[0])
        assert waiting.problem == "The receiver responded with status 500."
        second = notifier(clock, team=hook(url))  # another process
        assert looks(second, home) == 0
        clock.now += DELAYS[0] + 1
        assert looks(second, home) == 0
        clock.now += DELAYS[1] + 1
        assert looks(second, home) == 1
        assert len({headers["webhook-id"] for headers, _ in got}) == 1
        assert len(got) == 3


def test_a_process_that_dies_while_it_sends_leaves_it_to_another(home):
    clock = Clock()
    with web_receiver() as (url, got, _):
        kept = notifier(clock, team=hook(url))
        looks(kept, home)
        asks(home)
        outbox = Outbox(home.database)
        (turn,) = asyncio.run(outbox.list_ended_turns())
        asyncio.run(outbox.store(turn, asyncio.run(kept._deliveries_of(home, turn))))
        asyncio.run(outbox.store(turn, asyncio.run(kept._deliveries_of(home, turn))))  # another one was quicker
        clock.now += 5
        assert len(asyncio.run(outbox.claim(clock.now, 120))) == 1  # and it dies
        assert looks(kept, home) == 0
        clock.now += 121
        assert looks(kept, home) == 1
        assert len(got) == 1


def test_what_never_arrives_stays_with_its_problem(files):
    clock = Clock()
    with web_receiver() as (url, got, statuses):
        statuses += [500] * 20
        kept = notifier(clock, team=hook(url))
        looks(kept, files)
        asks(files)
        for delay in (5, *DELAYS, 100_000, 100_000):
            clock.now += delay + 1
            looks(kept, files)
        assert len(got) == len(DELAYS) + 1
        assert [(each.due, each.tries) for each in left(files)] == [(None, len(DELAYS) + 1)]


def test_an_approval_that_still_waits_is_escalated_and_an_answered_one_is_not(files):
    clock = Clock()
    with web_receiver() as (url, got, _), mail_receiver() as (port, mails):
        smtp = SmtpSettings(host="127.0.0.1", port=port, security="none", sender="treadle@example.org")
        boss = NotificationSettings(email=("boss@example.org",), after_minutes=30)
        kept = notifier(clock, smtp, team=hook(url), boss=boss)
        looks(kept, files)
        agent = asks(files)
        asks(files, "s")
        clock.now += 5
        assert looks(kept, files) == 2
        answers(files, agent)
        clock.now += 31 * 60
        looks(kept, files)
        assert left(files) == []
    (mail,) = [message_from_string(each, policy=policy.default) for each in mails]
    assert mail["To"] == "boss@example.org"
    assert mail["Subject"] == "Approval needed for order: Order some <tea>."
    assert "https://treadle.example.org/runs/s" in mail.get_content()
    assert len(got) == 3  # two questions and a result, which is escalated to no one


def test_channels_choose_users_events_and_whether_answers_are_sent(files):
    with web_receiver() as (url, got, _):
        ben = hook(url, users=("ben",))
        results = hook(url, events=("result",), answers=True, format="slack")
        clock = Clock()
        kept = notifier(clock, ben=ben, results=results)
        looks(kept, files)
        answers(files, asks(files))
        clock.now += 5
        assert looks(kept, files) == 1
        assert json.loads(got[0][1]) == {
            "text": "*Run answered: Order some &lt;tea&gt;.*\nOrdered tea.\n<https://treadle.example.org/runs/r|Open the run>"
        }
        assert "webhook-signature" not in got[0][0]


def test_runs_of_before_and_deleted_runs_are_not_notified_about(files):
    clock = Clock()
    asks(files, "old")
    with web_receiver() as (url, got, _):
        clock.now += 60
        kept = notifier(clock, team=hook(url))
        looks(kept, files)
        asks(files, "gone")
        asyncio.run(delete_from_home(files, ["gone"], by="anna"))
        clock.now += 60
        assert looks(kept, files) == 0
        assert got == []


def test_private_targets_need_permission(files):
    clock = Clock()
    with web_receiver() as (url, got, _):
        kept = notifier(clock, team=NotificationSettings(url=url))
        looks(kept, files)
        asks(files)
        clock.now += 5
        assert looks(kept, files) == 0
        assert "loopback address" in left(files)[0].problem
        assert got == []


def test_a_removed_channel_and_an_unreachable_mail_server(files):
    clock = Clock()
    smtp = SmtpSettings(host="127.0.0.1", port=1, security="none", sender="t@example.org")
    kept = notifier(clock, smtp, mail=NotificationSettings(email=("a@example.org",)))
    looks(kept, files)
    asks(files)
    clock.now += 5
    assert looks(kept, files) == 0
    assert left(files)[0].problem == "The mail server 127.0.0.1 didn't take the e-mail (ConnectionRefusedError)."
    clock.now += 60
    assert looks(notifier(clock), files) == 0
    assert left(files) == []


def test_the_desktop_is_notified_by_its_program(files, tmp_path, monkeypatch):
    program = tmp_path / "bin" / "notify-send"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/shown\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    clock = Clock()
    kept = notifier(clock, desk=NotificationSettings(desktop=True))
    looks(kept, files)
    asks(files)
    clock.now += 5
    monkeypatch.setenv("PATH", str(tmp_path))
    assert looks(kept, files) == 0
    assert left(files)[0].problem == "There is no notify-send on this machine."
    monkeypatch.setenv("PATH", f"{program.parent}:/bin:/usr/bin")
    clock.now += 60
    assert looks(kept, files) == 1
    lines = (tmp_path / "shown").read_text().splitlines()
    assert lines[2:] == ["--", "Approval needed for order: Order some <tea>.", "https://treadle.example.org/runs/r"]


def test_it_runs_beside_a_server_and_only_with_channels(files):
    async def story():
        async with run_notifier(Settings(), list):
            pass
        settings = Settings(notifications={"team": hook(url)}, server=ServerSettings(public_url="https://t.example"))
        agent = Agent(Scripted("Fine."))
        async with run_notifier(settings, lambda: [files]):
            await agent.run("Well?", journal=files.services())
            async with asyncio.timeout(120):
                while not got:  # noqa: ASYNC110 - a thread receives it
                    await asyncio.sleep(0.05)

    with web_receiver() as (url, got, _):
        asyncio.run(story())
    assert json.loads(got[0][1])["data"]["title"] == "Well?"


def test_settings_that_cannot_work_are_refused_at_the_start(monkeypatch):
    def made(smtp=None, public_url="https://t.example", **fields):
        return make_notifier(
            Settings(
                notifications={"x": NotificationSettings(**fields)},
                smtp=smtp or SmtpSettings(),
                server=ServerSettings(public_url=public_url),
            )
        )

    with pytest.raises(SettingsError, match="needs a target"):
        made()
    with pytest.raises(SettingsError, match=r"smtp\.host"):
        made(email=("a@example.org",))
    with pytest.raises(SettingsError, match="public_url"):
        made(desktop=True, public_url="")
    assert made(url="https://a.example") is not None
    monkeypatch.delenv("TREADLE_WEBHOOK_SECRET")
    with pytest.raises(SettingsError, match="TREADLE_WEBHOOK_SECRET has no secret"):
        made(url="https://a.example")
    assert made(url="https://a.example", format="slack") is not None


def test_forms_cannot_be_broken_by_a_title():
    nasty = Notification(
        "i",
        "approval",
        "r",
        "a\r\nBcc: x@y\n<!here> &",
        "shop",
        "",
        "waiting",
        1.0,
        "https://t/r",
        (WaitingApproval("c", "order"),),
    )
    mail = to_email(nasty, "Treadle <t@example.org>", ("a@example.org",))
    assert mail["Bcc"] is None
    assert mail["Subject"] == "Approval needed for order: a Bcc: x@y <!here> &"
    assert mail["Message-ID"] == "<i@example.org>"
    assert json.loads(to_slack(nasty))["text"].startswith("*Approval needed for order: a Bcc: x@y &lt;!here&gt; &amp;*")


def test_a_secret_of_the_standard_webhooks_is_base64():
    """The example of the specification."""
    headers = webhook_headers(
        "msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}', "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 1614265330
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
