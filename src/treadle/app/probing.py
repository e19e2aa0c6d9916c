"""Asks a model the questions of `probe`, one way after the other. Nothing is asked twice, and nothing is stored here."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from time import perf_counter

from msgspec.structs import replace

from treadle.app.probe import QUESTIONS, TOOLS, Question, Tried, firsts, is_right, sure_enough, worth_trying
from treadle.app.ways import HELD, NATIVE, Way, able
from treadle.core.calls import Written
from treadle.core.errors import ModelError, ModelUnavailable
from treadle.core.messages import History
from treadle.core.requests import CallDone, Delta, Options, Request, TextDelta
from treadle.core.seams import Model
from treadle.dialects import auto
from treadle.models.known import traits_of

INSTRUCTIONS = "You are a helpful assistant."
OPTIONS = Options(temperature=0, max_tokens=1024)
ENOUGH = 1500  # characters of an answer: what is right shows by then, and small models may go on for ever
_CANNOT = (500, 501)  # how some servers say that they can't do a thing, rather than that they are down

OnQuestion = Callable[[str, int], None]


def unseen(way: str, number: int) -> None:
    """Nobody looks."""


async def probe(model: Model, template: str = "", on_question: OnQuestion = unseen) -> AsyncIterator[Tried]:
    """Try each way that makes sense for a model. Raises what the server said where no way got as far as an answer."""
    first: ModelError | None = None
    worked = False
    for name in worth_trying(model, template):
        try:
            yield await _tried(model, name, on_question)
            worked = True
        except ModelError as error:
            if isinstance(error, ModelUnavailable) and error.status not in _CANNOT:
                raise
            first = first or error
            yield Tried(Way(name, of=len(QUESTIONS)), problem=str(error))
    if first is not None and not worked:
        raise first


async def _tried(model: Model, name: str, on_question: OnQuestion) -> Tried:
    began = perf_counter()
    on_question(name, 1)
    flat = model.traits.flat or traits_of(model.name.partition(":")[2]).flat
    way = Way(name, await _sureness(model) if name == HELD else 0.0, flat, of=len(QUESTIONS))
    asked = able(model, way=way)
    wrong: list[str] = []
    for number, question in enumerate(QUESTIONS, 1):
        on_question(name, number)
        if not await _is_answered(asked, question, native=name == NATIVE):
            wrong.append(question.title)
    return Tried(replace(way, right=len(QUESTIONS) - len(wrong)), tuple(wrong), seconds=perf_counter() - began)


async def _sureness(model: Model) -> float:
    from treadle.models.fitting import fit

    return sure_enough([(bool(question.wanted), (await fit(model, _request(question, model))).odds) for question in firsts()])


def _request(question: Question, model: Model) -> Request:
    return Request(INSTRUCTIONS, History(question.messages), TOOLS, options=OPTIONS.suited(model.traits))


async def _is_answered(model: Model, question: Question, *, native: bool) -> bool:
    """Whether a reply is right. A native one's words are looked through as the engine does."""
    text, calls = await _heard(model.reply(_request(question, model)))
    if native and text:
        parser = auto(strict=True).parser(TOOLS)
        heard = (parser.feed(text), parser.close())
        text = "".join([each.text for each in heard])
        calls += [call for each in heard for call in each.calls]
    return is_right(question, calls, text)


async def _heard(reply: AsyncIterator[Delta]) -> tuple[str, list[Written]]:
    """Words and calls. One that never comes to an end is left when it has said enough."""
    text, calls = "", list[Written]()
    async for delta in reply:
        if isinstance(delta, TextDelta):
            text += delta.text
        elif isinstance(delta, CallDone):
            calls.append(delta.call)
        if len(text) > ENOUGH:
            break
    if isinstance(reply, AsyncGenerator):
        await reply.aclose()
    return text, calls
