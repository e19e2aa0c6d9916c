"""What would be changed is asked in words at the original's API: a plain yes or no settles that call, and nothing else does."""

import asyncio
import time

import pytest

from assistants.platform.platform_setup import application, ask, run_of
from treadle import open_home
from treadle.core.calls import Ask, Call, Written
from treadle.core.entries import Finished, Judged, Opened, Previewed, Replied, Said, Started, Unclear
from treadle.core.errors import ModelRefused
from treadle.testing import calls

DELETE = calls(("delete_application", {"app_name": "demo-app"}), text="As you wish.")
BOTH = calls(("delete_application", {"app_name": "demo-app"}), ("delete_application", {"app_name": "checkout"}))
DAY = 24 * 3600.0


class Client:
    """One that was written for the original: it sends what was said before, and may know of runs."""

    def __init__(self, server, token):
        self._server = server
        self.token = token
        self.said = []

    def says(self, message, run_id=None, *, status=200):
        body = {"message": message, "conversation_history": [] if run_id else self.said, **({"run_id": run_id} if run_id else {})}
        found, reply = ask(self._server, "POST", "/api/ai/chat", body, self.token)
        assert found == status, reply
        if status == 200:
            self.said = [*self.said, {"role": "user", "content": message}, {"role": "assistant", "content": reply["message"]}]
        return reply


@pytest.fixture
def talk(serve, demo):
    """A client of alice's, and the server it talks to, whose model says this."""

    def talking(work, *replies, who="alice"):
        with serve(*replies) as server:
            return work(Client(server, demo.token(who)), server)

    return talking


def status_of(server, run_id, token):
    return run_of(server, run_id, token)["run"]["status"]


@pytest.mark.parametrize("yes", ["yes", "Yes!", " go ahead "])
@pytest.mark.parametrize("names_run", [True, False])
def test_what_would_happen_is_said_and_a_typed_yes_does_it(talk, demo, yes, names_run):
    def dialogue(client, server):
        asked = client.says("Delete demo-app.")
        assert asked["stopped"] == "waiting"
        for words in ("As you wish.", "demo-app would be deleted from", "- db (postgres-mock", "(yes/no)"):
            assert words in asked["message"]
        assert application(demo, "demo-app") is not None
        return asked, client.says(yes, asked["run_id"] if names_run else None)

    asked, done = talk(dialogue, DELETE, "It is gone.")
    assert (done["message"], done["stopped"], done["run_id"]) == ("It is gone.", "answered", asked["run_id"])
    assert application(demo, "demo-app") is None


def test_a_typed_no_leaves_it_and_the_model_hears_that(talk, demo):
    heard = []

    def listen(request):
        heard.append(str(request.history[-1]))
        return "It stays."

    def dialogue(client, server):
        client.says("Delete demo-app.")
        return client.says("no"), client.says("And now?")

    refused, after = talk(dialogue, DELETE, listen, "Nothing.")
    assert (refused["message"], after["message"]) == ("It stays.", "Nothing.")
    assert "delete_application" in heard[0]
    assert application(demo, "demo-app") is not None


def test_a_yes_counts_once(talk, demo):
    def dialogue(client, server):
        client.says("Delete demo-app.")
        client.says("yes")
        return client.says("yes")

    assert talk(dialogue, DELETE, "It is gone.", "To what?")["message"] == "To what?"


@pytest.mark.parametrize("names_run", [True, False])
def test_another_ones_yes_settles_nothing(talk, demo, names_run):
    def dialogue(client, server):
        asked = client.says("Delete demo-app.")
        other = Client(server, demo.token("admin"))
        other.said = client.said
        if names_run:
            other.says("yes", asked["run_id"], status=404)
        else:
            assert other.says("yes")["message"] == "To what?"
        return status_of(server, asked["run_id"], client.token)

    assert talk(dialogue, DELETE, "To what?") == "waiting"
    assert application(demo, "demo-app") is not None


def test_a_yes_but_is_no_yes(talk, demo):
    def dialogue(client, server):
        asked = client.says("Delete demo-app.")
        other = client.says("Yes, but in staging.")
        return other, status_of(server, asked["run_id"], client.token), client.says("yes")

    other, status, late = talk(dialogue, DELETE, "There is no staging.", "To what?")
    assert (other["message"], status, late["message"]) == ("There is no staging.", "waiting", "To what?")
    assert application(demo, "demo-app") is not None


def test_whoever_goes_on_in_the_run_itself_gives_up_what_waits_there(talk, demo):
    heard = []

    def listen(request):
        heard.append([message.text for message in request.history if message.role == "person"])
        return "There is no staging."

    def dialogue(client, server):
        run_id = client.says("Delete demo-app.")["run_id"]
        return run_id, client.says("Yes, but in staging.", run_id), client.says("yes", run_id)

    run_id, other, late = talk(dialogue, DELETE, listen, "To what?")
    assert other["message"] == "delete_application wasn't carried out: there was no plain yes in time.\n\nThere is no staging."
    assert (other["run_id"], late["run_id"], late["message"]) == (run_id, run_id, "To what?")
    assert heard == [["Delete demo-app.", "Yes, but in staging."]]
    assert application(demo, "demo-app") is not None


def test_a_yes_to_something_else_settles_nothing(talk, demo):
    def dialogue(client, server):
        client.says("Delete demo-app.")
        client.says("What is a bucket?")
        return client.says("yes")

    assert talk(dialogue, DELETE, "A place for files. Shall I explain?", "Well then.")["message"] == "Well then."
    assert application(demo, "demo-app") is not None


def test_a_yes_in_another_conversation_settles_nothing(talk, demo):
    """The client shows what it was asked last, and that isn't this call; or the call waits in another face."""

    def dialogue(client, server):
        client.says("Delete demo-app.")
        client.said = [{"role": "user", "content": "A spec?"}, {"role": "assistant", "content": "Shall I write one?"}]
        return client.says("yes")

    assert talk(dialogue, DELETE, "Here it is.")["message"] == "Here it is."

    def elsewhere(client, server):
        body = {"assistant": "platform", "message": "Delete demo-app.", "context": {"server": demo.url}}
        run_id = ask(server, "POST", "/api/runs", body, client.token)[1]["run_id"]
        run_of(server, run_id, client.token)
        return client.says("yes"), status_of(server, run_id, client.token)

    reply, status = talk(elsewhere, DELETE, "To what?")
    assert (reply["message"], status) == ("To what?", "waiting")
    assert application(demo, "demo-app") is not None


@pytest.mark.parametrize("names_run", [True, False])
def test_one_yes_settles_no_two_calls(talk, demo, names_run):
    def dialogue(client, server):
        asked = client.says("Delete demo-app and checkout.")
        again = client.says("yes", asked["run_id"] if names_run else None)
        return asked, again, status_of(server, asked["run_id"], client.token)

    asked, again, status = talk(dialogue, BOTH)
    assert (asked["message"], len(asked["approvals"]), status) == (again["message"], 2, "waiting")
    assert "can't be settled with a yes or no" in asked["message"]
    assert None not in (application(demo, "demo-app"), application(demo, "checkout"))


@pytest.mark.parametrize("names_run", [True, False])
def test_a_yes_after_it_has_expired_settles_nothing(talk, demo, tmp_path, names_run):
    asyncio.run(waits_since(tmp_path, demo, time.time() - 8 * DAY))

    def dialogue(client, server):
        return client.says("yes", "old" if names_run else None)

    assert talk(dialogue, "To what?")["message"].endswith("To what?")
    assert application(demo, "demo-app") is not None


def test_a_yes_within_days_still_counts(talk, demo, tmp_path):
    asyncio.run(waits_since(tmp_path, demo, time.time() - 2 * DAY))
    assert talk(lambda client, server: client.says("yes"), "It is gone.")["message"] == "It is gone."
    assert application(demo, "demo-app") is None


@pytest.mark.parametrize("names_run", [True, False])
def test_a_yes_doesnt_say_what_became_of_a_call(talk, demo, tmp_path, names_run):
    at = time.time()
    lost = [Started(call_id="c1", key="k", at=at), Unclear(call_id="c1", reason="The process ended.", at=at)]
    asyncio.run(waits_since(tmp_path, demo, at, *lost))

    def dialogue(client, server):
        return client.says("yes", "old" if names_run else None), status_of(server, "old", client.token)

    said, status = talk(dialogue)
    assert (said["run_id"], status) == ("old", "waiting")
    assert "It isn't known whether delete_application took effect" in said["message"]
    assert "can't be settled with a yes or no" in said["message"]
    assert application(demo, "demo-app") is not None


async def waits_since(folder, demo, at, *lost):
    """A run of the client's in which something waits since then."""
    call = Call("c1", "delete_application", {"app_name": "demo-app"})
    entries = [
        Opened(agent="platform", user="alice", origin={"about": {"server": demo.url}}, at=at),
        Said(text="Delete demo-app.", at=at),
        Replied(parts=(Written(call.id, call.name, '{"app_name": "demo-app"}'),), at=at),
        Judged(call=call, verdict=Ask(reason="This can't be undone."), at=at),
        Previewed(call_id=call.id, text="demo-app would be deleted.", at=at),
        *lost,
        Finished(stopped="waiting", at=at),
    ]
    await open_home(folder / "data").journal.append("old", 0, entries)


def test_what_came_of_a_yes_is_said_though_the_model_fails_after_it(talk, demo):
    def dialogue(client, server):
        client.says("Delete demo-app.")
        return client.says("yes", status=502)

    done = talk(dialogue, DELETE, ModelRefused("There is no such model."))
    assert "Deleted 'demo-app'" in done["error"]
    assert done["error"].endswith("There is no such model.")
    assert application(demo, "demo-app") is None
