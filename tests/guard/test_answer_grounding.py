"""Values of an answer that no source has are found; those that one has in another spelling, or that follow from it, aren't."""

import pytest

from treadle.core.calls import Call, Result
from treadle.core.messages import Message, Text, person_message
from treadle.guard.answer_grounding import MARK, MOST_TOLD, explain_ungrounded, find_ungrounded, mark_ungrounded
from treadle.guard.answer_sources import AnswerSources, sources_of

STAMPS = "started_at: 2026-11-05T17:33:01.65Z completed_at: 2026-11-05T17:36:08Z"


def doubts(answer, *texts, data=()):
    return [(value.text, value.kind) for value in find_ungrounded(answer, AnswerSources(texts, data))]


@pytest.mark.parametrize(
    ("answer", "source"),
    [
        ("It costs 1,000 euros.", "price: 1000"),
        ("There are three left.", "left: 3"),
        ("There are 47 of them.", "forty-seven of them"),
        ("It holds 1204 seats.", "one thousand two hundred and four seats"),
        ("About 3.5 million people live there.", "population: 3512000"),
        ("It is 46.8, so about 47.", "46.82"),
        ("It is 50 % of all, or 12.5 percent.", "share: 0.5, 0.125"),
        ("The 2nd of them failed.", "2: failed"),
        ("It lives for 3 days.", "ttl: 72h"),
        ("It took 3 minutes.", STAMPS),
        ("It ran on 5 November 2026 at 5:33 PM.", STAMPS),
        ("It ran on Nov 5th at 17:33.", STAMPS),
        ("It ran on Thursday, in November 2026.", STAMPS),
        ("It begins at 7:30.", "starts at 19:30"),
        ("It begins at 7 pm.", "starts at 19:00"),
        ("You can count on 58 buses each day.", "Buses: 64, six of them in repair"),
        ("The usual amount is 2 percent of 500 grams, which is 10 grams.", "2 percent of the flour. 500 grams"),
        ("The PostgreSQL database of Drivers' Union is fine.", "postgres, driver, union"),
        ("The image is `registry.example/shop:4.2.1`.", "image: registry.example/shop:4.2.1"),
        ("See config.yaml and A-113; user_id and getUser too, on a 24-hour clock.", "config.yaml A-113 user_id getUser 24"),
        ('You said "town council".', "Town council"),
        ("It is 90-100 km, i.e. a 3/4 of it.", "90 100 3 4"),
        ("None failed, 0 of 1.", ""),
        ("It costs $0 a month, or 0 euros.", "cost: 0"),
        ("I'm sure: Yes, and I'd say OK.", ""),
        ("However, Nothing was found.\n## Next Steps\nWhat Else:\n1. Ask them.\n- Restart it", "nothing"),
        ("Write this:\n```yaml\nname: Zebra\nport: 8080\n```\nDone.", ""),
        ('`5` and "7" are left.', "5 7"),
        ("The warehouse asks for 200Gi of storage, or 1,024Mi.", 'storage: "200Gi", buffer: "1,024Mi"'),
    ],
)
def test_what_a_source_says_in_another_spelling_is_grounded(answer, source):
    assert doubts(answer, source) == []


@pytest.mark.parametrize(
    ("answer", "source", "found"),
    [
        ("It costs $0 a month.", "applications: 3", [("0", "number")]),
        ("It costs 1 dollar.", "applications: 3", [("1", "number")]),
        (
            "The team runs: Salesforce, Microsoft Dynamics, and Google Workspace.",
            "team: data",
            [("Salesforce", "name"), ("Microsoft Dynamics", "name"), ("Google Workspace", "name")],
        ),
        ("You use:\n- Salesforce\n- **Google Drive**", "", [("Salesforce", "name"), ("Google Drive", "name")]),
        ("It failed at 12:13 PM.", "2026-11-05T04:13:00Z", [("12:13 PM", "time")]),
        ("It failed on 2026-11-06.", STAMPS, [("2026-11-06", "date")]),
        ("It failed on May 6.", STAMPS, [("May 6", "date")]),
        ("It failed on Monday in May.", STAMPS, [("Monday", "name"), ("May", "name")]),
        ("It runs shop:4.2.2 of `mailer`.", "shop:4.2.1", [("shop:4.2.2", "id"), ("`mailer`", "quote")]),
        ("It is in “the attic”.", "", [("“the attic”", "quote")]),
        ("Write to bob@example.org or see http://x.org/y.", "", [("bob@example.org", "id"), ("http://x.org/y", "id")]),
        ("There are 17 of them, 30 million in all.", "16", [("17", "number"), ("30 million", "number")]),
        ("There are seventeen.", "16", [("seventeen", "number")]),
        ("It asks for 200Gi, and 10 Gi.", "200Mi, 10 MB", [("Gi", "name"), ("Gi", "name")]),
        ("It has 12 % and 5 days.", "7", [("12", "number"), ("5", "number")]),
    ],
)
def test_what_no_source_says_is_found(answer, source, found):
    assert doubts(answer, source) == found


def test_counts_of_what_a_result_lists_are_grounded():
    rows = [{"id": number, "status": "failed" if number < 3 else "running", "size": 10} for number in range(5)]
    assert doubts("There are 5, 3 of them failed; together 50.", data=[rows]) == []
    assert doubts("There are 4.", data=['["a", "b", "c", "d"]']) == []
    assert doubts("There are 3.", "Found:\n- a\n- b\n- c") == []
    assert doubts("It has 2 fields.", data=[{"name": "x", "nested": {"a": 1, "b": True}}]) == []
    assert doubts("It needs 7 in all.", data=[{"web": 3, "worker": 4}]) == []
    assert doubts("There are 999.", data=["[1, 2", rows]) == [("999", "number")]


def test_a_number_that_counts_the_answers_own_list_is_grounded():
    assert doubts("You have three applications: checkout, demo-app, and storefront.", "checkout demo-app storefront") == []


def test_a_long_row_of_digits_identifies_something():
    digits = "123456789012345678901234567890"
    assert doubts(f"The account is {digits}.", f"account {digits}", data=[{"n": 1e300, "nan": float("nan"), "ok": True}]) == []
    assert doubts(f"The account is {digits}.", "account 5") == [(digits, "id")]
    assert doubts("It is 1234567890123456789.", data=[[{"ok": True}]]) == []


def test_sums_of_many_numbers_on_a_line_count_for_nothing():
    line = " ".join(str(number * number) for number in range(10, 30))
    assert doubts("It is 221.", line) == [("221", "number")]


def test_what_can_not_be_a_date_has_no_weekday():
    assert doubts("It was on Sunday, 77 of them.", "2026-02-31 and 2026-99-99T10:00") == [("Sunday", "name"), ("77", "number")]


def test_the_sources_are_messages_results_and_calls_but_not_what_the_model_said():
    history = [
        person_message("How is Anna?"),
        Message("model", (Text("Probably Berta."), Call("c1", "look", {"who": "Clara"}))),
        Message("tools", (Result("c1", "look", "ok", data={"friend": "Dora"}), Result("c2", "look", "Emma is fine"))),
    ]
    answer = "There are Anna, Berta, Clara, Dora, Emma and Frieda."
    found = find_ungrounded(answer, sources_of(history, "You know Frieda."))
    assert [value.text for value in found] == ["Berta"]


def test_the_model_is_told_the_values_and_people_see_them_marked():
    answer = "There are 17 in Rome."
    found = find_ungrounded(answer, AnswerSources(["nothing"]))
    assert mark_ungrounded(answer, found) == f"There are 17 {MARK} in Rome {MARK}."
    assert "«17», «Rome»" in explain_ungrounded(found)
    many = find_ungrounded(" ".join(str(number) for number in range(100, 120)), AnswerSources([]))
    assert explain_ungrounded(many).count("«") == MOST_TOLD


def test_numbers_of_citations_are_no_values():
    assert find_ungrounded("It floats [1], and sinks [2, 99].", sources_of([], "")) == ()
