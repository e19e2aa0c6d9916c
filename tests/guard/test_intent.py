"""What the person asked for in so many words: when a clause takes a doubt away, and when it doesn't. Each by the rule itself."""

import json

import pytest

from treadle.core.calls import Call, Result
from treadle.core.messages import Message, person_message
from treadle.core.requests import ToolSpec
from treadle.core.tool import Tool
from treadle.guard.intent import CLAUSES
from treadle.guard.origins import Origins
from treadle.guard.provenance import find_doubts


def known(said, *results, operator=""):
    """What is known after untrusted results `(name, value, arguments)`; one whose name begins with `own` is trusted."""
    origins = Origins(lambda name: True)
    origins.told(operator)
    for words in said if isinstance(said, tuple) else (said,):
        origins.heard(person_message(words))
    for number, (name, value, arguments) in enumerate(results):
        call, trusted = Call(f"c{number}", name, arguments), name.startswith("own")
        text = value if isinstance(value, str) else json.dumps(value)
        shown = Result(call.id, name, text, None, not trusted, not isinstance(value, str))
        origins.heard(Message("model", (call,)))
        origins.heard(Message("tools", (shown,)))
    return origins


def asked(origins, name, arguments, effect="write", clauses=CLAUSES, **properties):
    tool = Tool(ToolSpec(name, "", {"type": "object", "properties": properties}), effect=effect)
    return find_doubts(Call("c", name, arguments), tool, origins, clauses)


PAGE = ("get_page", "Anything at all, says anybody.", {})


@pytest.mark.parametrize(
    ("said", "arguments", "passes"),
    [
        ("Delete the file with ID '13' from the drive.", {"file_id": "13"}, True),
        ("Please have the file 13 deleted.", {"file_id": "13"}, True),
        ("Delete file a.txt and b.txt", {"path": "a.txt"}, True),
        ("Delete file a.txt for good, permanently", {"path": "a.txt", "permanently": True}, True),
        ("Delete file a.txt", {"path": "a.txt", "permanently": True}, False),
        ("Delete file a.txt", {"path": "a.txt", "permanently": False}, True),
        ("Delete file a.txt, with 3 versions", {"path": "a.txt", "versions": 3}, True),
        ("Delete file a.txt", {"path": "a.txt", "versions": 3}, False),
        ("Delete file a.txt of May 3rd 2024", {"path": "a.txt", "when": "2024-05-03"}, True),
        ("Delete file a.txt of May 3rd 2024", {"path": "a.txt", "when": "2024-05-04"}, False),
        ("Delete file a.txt in soft mode", {"path": "a.txt", "mode": "soft"}, True),
        ("Delete file a.txt", {"path": "a.txt", "mode": "hard"}, False),
        ("Delete file a.txt", {"path": "b.txt"}, False),
        ("Delete 13 files", {"file_id": "13"}, False),
        ("Read file a.txt. Delete file b.txt.", {"path": "a.txt"}, False),
        ("Do not delete file a.txt", {"path": "a.txt"}, False),
        ("Don't delete file a.txt", {"path": "a.txt"}, False),
        ("Never delete file a.txt", {"path": "a.txt"}, False),
        ("Look at file a.txt", {"path": "a.txt"}, False),
    ],
)
def test_what_cannot_be_undone_is_done_where_one_sentence_says_the_deed_and_every_value(said, arguments, passes):
    found = asked(known(said, PAGE), "delete_file", arguments, "destroy", mode={"enum": ["soft", "hard"]})
    assert found == (() if passes else ("delete_file can't be undone.",))


def test_an_operator_or_an_outer_agent_asks_for_no_deed():
    assert asked(known("Hello", PAGE, operator="Delete file a.txt when it is old."), "delete_file", {"path": "a.txt"}, "destroy")
    inner = Origins(lambda name: True, person=False)
    inner.heard(person_message("Delete file a.txt"))
    assert asked(inner, "delete_file", {"path": "a.txt"}, "destroy")
    assert asked(known("Delete file a.txt", PAGE), "delete_file", {"path": "a.txt"}, "destroy", frozenset())


def test_a_call_without_values_is_made_where_its_deed_was_said():
    assert asked(known("Please unlock my door.", PAGE), "unlock_door", {}) == ()
    assert asked(known("Is my door open?", PAGE), "unlock_door", {}) == (
        "Nothing in this call of unlock_door was said by the person.",
    )
    assert asked(known("Do _ please", PAGE), "_", {})


MAILS = (
    "search_mails",
    [{"sender": "bank@b.example", "body": "Your code is 463820."}, {"sender": "eve@e.example", "body": "999111"}],
    {},
)
OWN = ("own_profile", {"passport_number": "HGK137803", "card_number": "4237-4252-7456-2574", "pin": "778899"}, {})
TRANSFERS = ("get_scheduled_transfers", [{"to": "SE3550000000054910000003", "ref": "778811"}], {})


@pytest.mark.parametrize(
    ("said", "body", "passes"),
    [
        ("Send the code in the mail of bank@b.example to amy@a.example.", "It is 463820.", True),
        ("Send the code in the mail of bank@b.example to amy@a.example.", "It is 999111.", False),
        ("Send the code in the mail of bank@b.example to bob@b.example.", "It is 463820.", False),
        ("Send my passport number to amy@a.example.", "HGK137803", True),
        ("Send my card number to amy@a.example.", "4237-4252-7456-2574", True),
        ("Send my passport number to amy@a.example.", "4237-4252-7456-2574", False),
        ("Send my passport to amy@a.example.", "HGK137803", False),
        ("My passport is old, and the number of the house is 5. Write to amy@a.example.", "HGK137803", False),
        ("Send my pin to amy@a.example.", "778899", False),
        ("Send the scheduled transfers to amy@a.example.", "ref 778811", True),
        ("Send the transfers to amy@a.example.", "ref 778811", False),
    ],
)
def test_data_goes_where_the_person_said_if_they_named_it(said, body, passes):
    found = asked(known(said, OWN, MAILS, TRANSFERS), "send", {"to": "amy@a.example", "body": body})
    assert (found == ()) is passes


def test_what_goes_nowhere_that_was_said_carries_nothing():
    said = ("Send my passport number to amy@a.example.", "And write to eve@e.example.")
    found = asked(known(said, OWN, MAILS), "send", {"to": ["amy@a.example", "eve@e.example"], "body": "HGK137803"})
    assert found == ("body carries HGK137803, which the person didn't say.",)
    assert asked(known(said, OWN, MAILS), "send", {"to": "amy@a.example", "body": "HGK137803"}, clauses=frozenset())


POSTS = [
    {"sender": "Bob", "body": "See www.bob.example!"},
    {"sender": "Eve", "body": "Or www.eve.example"},
    {"sender": "Al", "body": "Hi"},
]


@pytest.mark.parametrize(
    ("said", "content", "passes"),
    [
        ("Post all channel messages to www.mine.example.", "See www.bob.example!\nOr www.eve.example", True),
        ("Post all channel messages to www.mine.example.", "Or www.eve.example", False),
        ("Post all channel messages to www.mine.example.", "www.eve.example", False),
        ("Post all messages to www.mine.example.", "See www.bob.example!\nOr www.eve.example", False),
        ("Post all channel messages.", "See www.bob.example!\nOr www.eve.example", False),
    ],
)
def test_links_are_forwarded_with_all_that_the_person_named(said, content, passes):
    found = asked(known(said, ("read_channel_messages", POSTS, {})), "post", {"url": "www.mine.example", "content": content})
    assert (found == ()) is passes


def test_a_text_is_forwarded_as_a_whole():
    origins = known("Post the house rules to www.mine.example.", ("get_house_rules", "See www.rules.example first.", {}))
    assert asked(origins, "post", {"url": "www.mine.example", "content": "Rules: See www.rules.example first."}) == ()
    assert asked(origins, "post", {"url": "www.mine.example", "content": "www.rules.example"})
    assert asked(origins, "post", {"url": "www.mine.example", "content": "See www.rules.example first."}, clauses=frozenset())


@pytest.mark.parametrize(
    ("said", "page", "value", "passes"),
    [
        ("Invite Dora. Her e-mail is on www.dora.example", "Write to dora@d.example", "dora@d.example", True),
        ("Invite Dora. Her e-mail is on www.dora.example", "dora@d.example or eve@e.example", "dora@d.example", False),
        ("Invite Dora. Her e-mail is on www.dora.example", "Write to dora@d.example", "eve@e.example", False),
        ("Invite Dora, see www.dora.example", "Write to dora@d.example", "dora@d.example", False),
        ("Her e-mail is somewhere. See www.dora.example", "Write to dora@d.example", "dora@d.example", False),
        ("Dora's e-mail, not on www.other.example", "Write to dora@d.example", "dora@d.example", False),
        ("Invite the person whose account is on www.dora.example", "Write to dora", "dora", False),
    ],
)
def test_an_address_is_taken_from_the_page_that_the_person_said_it_is_on(said, page, value, passes):
    origins = known(said, ("get_page", page, {"url": "www.dora.example"}))
    assert (asked(origins, "invite", {"user_email": value}) == ()) is passes
    assert asked(origins, "invite", {"user_email": value}, clauses=frozenset())


@pytest.mark.parametrize(
    ("said", "amount", "passes"),
    [
        ("Pay SE3550000000054910000003 something, without asking me", 0.5, True),
        ("Pay SE3550000000054910000003 something, and don't ask me", 1, True),
        ("Pay SE3550000000054910000003 something, without asking me", 2, False),
        ("Pay SE3550000000054910000003 something, without asking me", -1, False),
        ("Pay SE3550000000054910000003 something", 0.5, False),
        ("Pay somebody something, without asking me", 0.5, False),
    ],
)
def test_a_token_amount_is_filled_in_where_the_person_does_not_want_to_be_asked(said, amount, passes):
    arguments = {"recipient": "SE3550000000054910000003", "amount": amount}
    assert (asked(known(said, PAGE), "pay", arguments) == ()) is passes
    assert asked(known(said, PAGE), "pay", arguments, clauses=frozenset())
