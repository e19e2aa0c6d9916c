"""Held out: other material and fifty questions about it, written before they were asked first; nothing is changed for them.

Ten for each kind of source, of which two or three ask for what isn't there. The books are the same, the questions others.
"""

from typing import Any

from bench.foreign.material import ALICE, BOB, Material, describe_operation, score_spec
from bench.foreign.questions import Question, absent
from treadle import ToolProblem, tool
from treadle.assistants.guidance.store.values import Constraint, ProblemSpec, WorldEntry, WorldModel
from treadle.demo.platform.sample_data import SampleDeployment, SampleFailure

# A radio station's platform

_HISTORY = (
    SampleDeployment(
        400,
        BOB,
        score_spec("live-stream", "stream:12.1.0", "  recordings:\n    type: s3-bucket\n    params: {size: 900Gi}\n"),
    ),
    SampleDeployment(
        60,
        BOB,
        score_spec(
            "playlist-editor",
            "playlist:3.4.5",
            '  tracks:\n    type: postgres\n    params: {version: "13", storage: 6Gi}\n',
            "environment:\n  type: ephemeral\n  ttl: 36h\n",
        ),
        failure=SampleFailure(
            "check-health",
            "health check failed: GET http://playlist-editor:8080/healthz answered 500",
            "playlist: table tracks is missing",
        ),
    ),
    SampleDeployment(
        33, ALICE, score_spec("ad-sales", "ads:0.9.1", '  orders:\n    type: postgres\n    params: {version: "16", storage: 3Gi}\n')
    ),
)
_DOCUMENTS = {
    "archive.md": "# Archive\n\nShows stay in the archive for 90 days; news only for 7.\n",
    "studio.md": "# Studio\n\nStudio B has no line to the transmitter before 5 in the morning.\n",
}
PLATFORM = (
    Question("What do we run on the platform?", ("live-stream", "playlist-editor"), ("ad-sales",)),
    Question("which of our apps is broken", ("playlist-editor",)),
    Question("What made the playlist-editor deployment go wrong?", ("health|500|tracks|missing",)),
    Question("How large is the bucket recordings?", ("900",)),
    Question("Which version of the playlist image do we run?", (r"3\.4\.5",)),
    Question("what postgres version is tracks on", (r"\b13\b",)),
    Question("How long do we keep news in the archive?", (r"\b7\b|seven",)),
    Question("May I look at ad-sales?", ("access|refus|denied|not (yours|allowed)|another team|permission|permitted|rights",)),
    absent("How many listeners does live-stream have right now?", r"\b\d{2,}\b"),
    absent("Who is the chief editor of the station?", r"editor is [A-Z]"),
)

# The project of a village that wants its night train back

_PROJECT = ("Night train", "A valley of nine villages wants a train home after the theatre in town.")
_SPEC = ProblemSpec(
    (
        Constraint("Subsidy", "At most 180,000 a year", 85),
        Constraint("Quiet", "No train after 1:15", 65),
        Constraint("Staff", "Two people on board at all times", 100),
    ),
    ("The last performance ends before the last train leaves", "Thirty passengers on an average night"),
)
_WORLD = WorldModel(
    actors=(
        WorldEntry("Theatre", "Plays on 142 evenings a year", "body"),
        WorldEntry("Railway", "Runs the line until 22:40 today", "company"),
        WorldEntry("Residents", "Live within 40 metres of the track at Obertal", "people"),
    ),
    mechanisms=(WorldEntry("Habit", "People keep driving for about two years after a train returns", "delay"),),
    resources=(
        WorldEntry("Railcars", "Two, one of which is in the workshop each March", "vehicles"),
        WorldEntry("Track", "31 kilometres, single", "line"),
        WorldEntry("Drivers", "Seven with a licence for the line", "staff"),
    ),
    assumptions=(WorldEntry("Fuel", "Diesel costs at most 1.90 a litre", ""),),
    simplifications=(WorldEntry("Carnival", "The week of carnival is ignored", ""),),
)
GUIDANCE = (
    Question("How much subsidy may it cost a year?", (r"180[,.]?000",)),
    Question("until when may trains run at night", (r"1[:.]15",)),
    Question("Which constraint has the lowest weight?", ("[Qq]uiet",)),
    Question("How many passengers do we hope for per night?", (r"\b30\b|[Tt]hirty",)),
    Question("How many evenings does the theatre play?", (r"\b142\b",)),
    Question("how long is the line", (r"\b31\b",)),
    Question("For how long do people keep driving after a train is back?", ("two years|2 years",)),
    Question("How many drivers could we use?", (r"\b7\b|[Ss]even",)),
    absent("What does a ticket cost?", r"[$€£]\s?\d", r"ticket costs? \d"),
    absent("Who plays the main part at the theatre?", r"played by [A-Z]"),
)

# The same books

COURSES = (
    Question("Who was the first project leader?", ("Murdock",)),
    Question("when did Bruce Perens take over", ("1996",)),
    Question("After which toy is Slink named?", ("[Ss]linky|dog",)),
    Question("How many developers were there at 2.0?", ("400",)),
    Question("Which office suite came with sarge?", ("OpenOffice",)),
    Question("what is .deb", ("package|archive",)),
    Question("How is Debian pronounced?", ("deb ee n|deb-ee-n|deb.ee.n",)),
    Question("Who hosted master after HP?", ("i-Connect",)),
    absent("How tall is the Eiffel Tower?", r"3[0-3]\d"),
    absent("Which wine did they drink at the release party of Woody?", r"\b(Riesling|Merlot|Bordeaux|Chardonnay)\b"),
)

# A bicycle workshop: functions

_REPAIRS = (
    {
        "number": 501,
        "customer": "Lindqvist",
        "bike": "cargo bike",
        "fault": "brake cable torn",
        "ready": "2026-06-12",
        "price": 46.5,
    },
    {"number": 502, "customer": "Baptiste", "bike": "racing bike", "fault": "bent rim", "ready": "2026-06-15", "price": 118.0},
    {"number": 503, "customer": "Lindqvist", "bike": "child's bike", "fault": "flat tyre", "ready": "2026-06-11", "price": 14.0},
)
_PARTS = (
    {"part": "inner tube 28 inch", "on_shelf": 34, "place": "drawer 5"},
    {"part": "brake pads", "on_shelf": 8, "place": "drawer 2"},
    {"part": "bell", "on_shelf": 0, "place": "drawer 9"},
)
_SHIFTS = {"monday": ("Noor", "Piotr"), "tuesday": ("Noor",), "saturday": ("Piotr", "Esra")}


@tool(effect="read")
def list_repairs(customer: str = "") -> list[dict[str, Any]]:
    """List the bikes that are here for repair: number, customer, fault, when they are ready, and the price.

    Args:
        customer: only those of this customer
    """
    return [repair for repair in _REPAIRS if customer.lower() in str(repair["customer"]).lower()]


@tool(effect="read")
def find_parts(words: str = "") -> list[dict[str, Any]]:
    """Find spare parts: how many are on the shelf, and where.

    Args:
        words: words of the part's name
    """
    return [part for part in _PARTS if words.lower() in str(part["part"])]


@tool(effect="read")
def get_shift(day: str) -> list[str]:
    """Return who works on a day of the week.

    Args:
        day: such as monday
    """
    if day.lower() not in _SHIFTS:
        raise ToolProblem(f"Nobody works on {day}. There are shifts on {', '.join(_SHIFTS)}.")
    return list(_SHIFTS[day.lower()])


FUNCTIONS = (
    Question("When will Baptiste's bike be ready?", (r"2026-06-15|June 15|15 June|15th of June|June 15th",)),
    Question("what's wrong with the cargo bike", ("brake|cable",)),
    Question("How many bikes are in for repair?", (r"\b(3|three)\b",)),
    Question("What does Lindqvist owe for the cargo bike?", (r"46[.,]5",)),
    Question("have we got any bells left", (r"\b([Nn]o|[Nn]ot|0|none|zero|out)\b|don't|aren't",)),
    Question("Where do I find brake pads?", ("drawer 2",)),
    Question("Who's working on Saturday?", ("Piotr", "Esra")),
    absent("What colour is the racing bike?", r"\b(red|blue|black|green|white|yellow)\b"),
    absent("What's Baptiste's address?", r"\b(Street|street|Lane|Road|strasse)\b", r"\d+ [A-Z]"),
    absent("Who's working on Thursday?", "Noor|Piotr|Esra"),
)

# A swimming pool: an HTTP API

_COURSES = (
    {"name": "Otters", "level": "beginners", "day": "Tuesday", "time": "16:20", "free_places": 2},
    {"name": "Herons", "level": "advanced", "day": "Thursday", "time": "18:05", "free_places": 0},
    {"name": "Early birds", "level": "adults", "day": "Friday", "time": "06:45", "free_places": 11},
)
_PRICES = {
    "child": {"ticket": "child", "euros": 2.8},
    "adult": {"ticket": "adult", "euros": 5.4},
    "family": {"ticket": "family", "euros": 12.9},
}
_POOLS = (
    {"name": "Lagoon", "degrees": 31, "length_m": 15, "open": True},
    {"name": "Fifty", "degrees": 26, "length_m": 50, "open": False, "reason": "tiles are replaced until 3 October"},
)
_LOST = ({"what": "goggles", "found": "2026-09-01", "box": 4}, {"what": "blue towel", "found": "2026-09-03", "box": 7})


def _answer_baths(path: str, query: dict[str, str]) -> Any:
    match path.strip("/").split("/"):
        case ["courses"]:
            level = query.get("level", "").lower()
            return [course for course in _COURSES if level in str(course["level"])]
        case ["prices", ticket]:
            return _PRICES.get(ticket.lower())
        case ["pools"]:
            return _POOLS
        case ["lost-property"]:
            words = query.get("words", "").lower()
            return [item for item in _LOST if words in str(item["what"])]
        case _:
            return None


_API: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Town baths", "version": "1"},
    "paths": {
        "/courses": describe_operation(
            "list_courses", "Swimming courses with day, time and free places", ("level", "query", "beginners, advanced or adults")
        ),
        "/prices/{ticket}": describe_operation("get_price", "The price of a ticket", ("ticket", "path", "child, adult or family")),
        "/pools": describe_operation("list_pools", "The pools with their temperature and length, and whether they are open"),
        "/lost-property": describe_operation(
            "find_lost_property", "Things that were found", ("words", "query", "words of the thing")
        ),
    },
}
OPENAPI = (
    Question("How warm is the Lagoon?", (r"\b31\b",)),
    Question("why is the Fifty closed", ("tile",)),
    Question("What does an adult pay?", (r"5[.,]4",)),
    Question("When is the beginners' course?", ("Tuesday", r"16:20|4:20")),
    Question("is there still room in the Herons", (r"\b([Nn]o|[Nn]ot|0|full|none|zero)\b|isn't|aren't",)),
    Question("Has anybody found a towel?", (r"\b7\b|2026-09-03|[Yy]es|blue",)),
    Question("How long is the longer pool?", (r"\b50\b",)),
    absent("Who teaches the Otters?", r"taught by [A-Z]", r"teacher is [A-Z]"),
    absent("What does it cost to rent a locker?", r"\d+[.,]\d", r"€"),
    absent("Has anybody found my red umbrella?", r"\b[Yy]es\b", r"box \d"),
)

SECOND = Material(
    user="bob",
    history=_HISTORY,
    documents=_DOCUMENTS,
    project=_PROJECT,
    spec=_SPEC,
    world=_WORLD,
    functions=(list_repairs, find_parts, get_shift),
    api=_API,
    resource=_answer_baths,
)
