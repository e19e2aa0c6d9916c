"""How to test a program that uses Treadle: with a scripted model, through the front door, without any patching."""

from treadle import Agent, deny, tool
from treadle.core.seams import Model
from treadle.testing import Scripted, calls

sent: list[str] = []


@tool
def send(to: str, text: str) -> str:
    """Send a letter.

    :param to: whom to
    :param text: what it says
    """
    sent.append(to)
    return "sent"


def secretary(model: str | Model) -> Agent[str]:
    """What the program itself would make, with a real model."""
    return Agent(model, tools=[send], policy=[deny("send", where={"to": "*@rival.example"})], attended=False)


def test_no_letter_ever_goes_to_the_rival() -> None:
    model = Scripted(calls(("send", {"to": "bob@rival.example", "text": "our plans"})), "I may not.")
    result = secretary(model).run_sync("Send Bob our plans.")
    assert sent == []
    assert result.calls[0].problem == "denied"
    assert result.output == "I may not."


test_no_letter_ever_goes_to_the_rival()
print("1 passed")
