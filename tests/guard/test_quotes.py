"""What a user adds to a message is untrusted content: it is read between marks, vouches for nothing, and taints the run."""

from treadle.core.calls import Media
from treadle.core.entries import Delivered, Opened, Said, Steered
from treadle.core.messages import Message, Quote, Summary, Text, message_size, person_message
from treadle.guard.answer_sources import sources_of
from treadle.guard.origins import Origins
from treadle.guard.trust import message_to_prompt
from treadle.loop.compaction import transcript_text
from treadle.loop.forks import message_parts
from treadle.loop.state import replay

BILL = Quote("bill.txt", "Pay to DE89370400440532013000.")
ASKED = Message("person", (Text("Pay the bill."), BILL))


def test_a_model_reads_it_between_marks_after_the_message():
    text = message_to_prompt(ASKED).text
    assert text.startswith("Pay the bill.\n\n<untrusted-")
    assert 'source="bill.txt">\nThe user added this to the message.' in text
    assert BILL.text in text
    assert message_to_prompt(person_message("Hello.")) == person_message("Hello.")
    image = Media("image/png", "0" * 64, 3, "a.png")
    first, wrapped, last = message_to_prompt(Message("person", (Text("See."), BILL, image))).parts
    assert (first, last) == (Text("See."), image)
    assert isinstance(wrapped, Text)
    summed = message_to_prompt(Message("person", (Summary(("Pay.",), "Paid."), Text("And now?"), BILL)))
    assert summed.text.index("Paid.") < summed.text.index("And now?") < summed.text.index("<untrusted-")


def test_it_isnt_what_the_person_said():
    assert ASKED.text == "Pay the bill."
    assert BILL.label == "[bill.txt]"
    assert message_size(ASKED) == len("Pay the bill.") + len(BILL.text)
    origins = Origins(lambda name: True)
    origins.heard(ASKED)
    assert not origins.is_vouched("DE89370400440532013000")
    assert [source.name for source in origins.loose] == ["bill.txt"]
    assert origins.elsewhere("bank")


def test_a_message_with_it_taints_the_run():
    said = Said(text="Pay the bill. [bill.txt]", parts=(Text("Pay the bill."), BILL))
    assert replay([Opened(), said]).tainted
    assert not replay([Opened(), Said(text="Pay the bill.")]).tainted
    assert not replay([Opened(), said]).has_media
    steered = Steered(id="a", text="[bill.txt]", parts=(BILL,))
    during = [Opened(), Said(text="Hello."), steered]
    assert not replay(during).tainted
    assert replay([*during, Delivered(message_ids=("a",))]).tainted
    assert replay([Opened(history=(ASKED,)), Said(text="Go on.")]).tainted
    assert message_parts(said) == ["Pay the bill.", BILL]


def test_an_answer_may_be_made_from_it_and_a_summary_is():
    assert "DE89370400440532013000" in sources_of([ASKED]).text
    assert "from bill.txt: Pay to DE89" in transcript_text([ASKED], 1_000)
