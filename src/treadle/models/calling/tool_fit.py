"""Asks a model whether one of the tools fits the request, and how certain it is. Knowing when not to call is the harder half.

The question has examples, near misses among them: without those, a small model says yes to anything. They are always the same
and come first, so that a server can cache them. Code lowers the odds of what is phrased as a question of general knowledge, or as
small talk: there a small model says yes too often, and no to people who ask for what is theirs.
"""

import re
from collections.abc import Sequence

from treadle.core.messages import History, Message, text_of
from treadle.core.requests import Request, ToolSpec
from treadle.core.seams import Model
from treadle.models.calling.yes_no import YesNo, ask_yes_no, make_examples, yes_no_request

_GENERAL_PENALTY = 2.0  # log odds, for questions of general knowledge
_TALK_PENALTY = 4.0  # for small talk
_TALK = re.compile(
    r"\s*(?:hi|hello|hey|thanks?|thank you|bye|goodbye|good (?:morning|afternoon|evening|night)|how are you|who are you)\b",
    re.IGNORECASE,
)
_GENERAL = re.compile(
    r"\s*(?:(?:please\s+)?(?:explain|define|describe the (?:difference|idea))\b"
    r"|how (?:do|does|did|can|could|should|would|to|come)\b(?! (?:my|our|the|we|you)\b)|how (?:often|much|long|many) should\b"
    r"|why (?:is|are|do|does)\b(?! (?:my|our)\b)|wh(?:at|o)(?:'s| is| are) an?\b|who (?:invented|discovered)\b"
    r"|what does \S+(?: \S+)? (?:do|mean)\b|what(?:'s| is) the (?:difference|meaning|best|capital)\b"
    r"|(?:please\s+)?(?:write|tell)(?: me)? an? (?:\w+ )?(?:poem|story|song|joke|haiku|essay|limerick)\b)",
    re.IGNORECASE,
)
_MAX_EARLIER = 300  # characters of what was said before, so that "and in Paris?" makes sense


class ToolFit(YesNo, frozen=True):
    """Whether a tool fits.

    `general` says that the odds were lowered because of the phrasing: small talk, or a question of general knowledge.
    """

    general: bool = False


def tool_fit_request(request: Request, examples: History | None = None) -> Request:
    """Return the request that asks whether one of the offered tools does what the user asks for last."""
    case = _format_case(_summarize_tools(request.tools), _format_question(request.history))
    return yes_no_request(_HEAD, EXAMPLES if examples is None else examples, case, request.progress)


async def judge_tool_fit(model: Model, request: Request, examples: History | None = None) -> ToolFit:
    """Return how certain a model is that one of the offered tools does what the user asks for last, after these examples."""
    judged = await ask_yes_no(model, tool_fit_request(request, examples))
    penalty = _find_penalty(request.history)
    return ToolFit(judged.odds - penalty, judged.usage, general=penalty > 0)


def _find_penalty(history: Sequence[Message]) -> float:
    """Return how much less likely a tool fits because of the way in which the last message is phrased."""
    asked = next((text_of(message.parts) for message in reversed(history) if message.role == "person"), "")
    return _TALK_PENALTY if _TALK.match(asked) else _GENERAL_PENALTY if _GENERAL.match(asked) else 0.0


def _format_question(history: Sequence[Message]) -> str:
    asked = [text_of(message.parts) for message in history if message.role == "person"]
    before = " ".join(asked[-2].split())[-_MAX_EARLIER:] if len(asked) > 1 else ""
    return f"(Before that: {before})\n{asked[-1]}" if before else asked[-1]


def _summarize_tools(tools: Sequence[ToolSpec]) -> list[str]:
    return [f"{tool.name}({_format_arguments(tool)}): {' '.join(tool.description.split())}" for tool in tools]


def _format_arguments(tool: ToolSpec) -> str:
    return ", ".join(tool.parameters.get("properties") or ())


def _format_case(tools: Sequence[str], question: str) -> str:
    return "\n".join(["Tools:", *[f"- {tool}" for tool in tools], f"User: {' '.join(question.split())}"])


_HEAD = (
    "You decide whether one of the tools does what the user asks for. It has to do exactly that, not something similar, "
    "and the user has to give what it needs. Reply with yes or no."
)
ToolCase = tuple[tuple[str, ...], str, str]  # tools, what a person says, yes or no


def make_fit_examples(cases: Sequence[ToolCase]) -> History:
    """Return cases as the conversation that precedes the question."""
    return make_examples([(_format_case(tools, question), answer) for tools, question, answer in cases])


CASES: tuple[ToolCase, ...] = (
    (("get_weather(city, day): Forecast for a city.",), "Will I need an umbrella in Oslo tomorrow?", "yes"),
    (("get_weather(city, day): Forecast for a city.",), "Who was king of Norway in 1905?", "no"),
    (
        ("dice_chance(dice, sum): Probability of a sum when dice are rolled.",),
        "How likely is it to draw two aces from a deck of cards?",
        "no",
    ),
    (
        (
            "convert_currency(amount, from, to): Convert money from one currency to another.",
            "stock_price(symbol): Latest price of a share.",
        ),
        "How much are 200 euros in yen?",
        "yes",
    ),
    (("pharmacies_nearby(city, open_now): Find pharmacies in a city.",), "Where can I buy a used bicycle in Lyon?", "no"),
    (
        ("loan_payment(amount, rate, years): Monthly payment of a loan.",),
        "I borrow 20000 at 4 percent for 5 years, and my sister 5000 at 3 percent for 2 years. What do we pay each month?",
        "yes",
    ),
    (("body_mass_index(weight, height): Body mass index of a person.",), "Explain what a body mass index is good for.", "no"),
    (("population(country, year): How many people live in a country.",), "What is the tallest mountain in Peru?", "no"),
    (
        ("send_email(to, subject, body): Send an email.", "create_event(title, date): Put an event into the calendar."),
        "Write down that the dentist is on May 3 at 9.",
        "yes",
    ),
    (("soil_water(crop, region): How much water a crop needs.",), "How much sunlight do tomatoes in Spain need?", "no"),
    (
        ("train_duration(start, end): How long the train takes between two cities.",),
        "Buy me a train ticket from Rome to Milan.",
        "no",
    ),
    (
        ("song_search(artist, year, genre): Find songs of an artist.",),
        "Show me what Nina Simone sang in the sixties",
        "yes",
    ),
    (("translate(text, language): Translate a text.",), "How do you say good night in Finnish?", "yes"),
    (("museum_hours(museum, day): When a museum is open.",), "Who painted the Night Watch?", "no"),
    (
        ("play_song(artist, minutes): Play songs of an artist.", "volume(level): Set the volume."),
        "First play Abba for 20 minutes, then Queen for 10. Also set the volume to 40, and after that play some Bach for an hour.",
        "yes",
    ),
    (
        ("hotel_search(city, nights, stars): Find hotels.", "tip(bill, percent): How much to tip."),
        "Could you find me a 4 star hotel in Prague for three nights? Then tell me what 15 percent of a bill of 82 are.",
        "yes",
    ),
    (("recipe_search(dish, diet): Find recipes for a dish.",), "Which wine goes with grilled salmon?", "no"),
    (("user_profile(id): Details of a user.",), "i want the data of customer 4711", "yes"),
)
EXAMPLES = make_fit_examples(CASES)
