"""The material of the first hundred questions: a ferry company, a school canteen, Debian's books, a household, a library.

Invented for this bench, but for the books, which are fetched as Debian packages where they aren't there yet.
"""

import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
from msgspec import Struct

from treadle import ToolProblem, tool
from treadle.assistants.guidance.store.values import Constraint, ProblemSpec, WorldEntry, WorldModel
from treadle.demo.platform.sample_data import USERS, SampleDeployment, SampleFailure

Resource = Callable[[str, dict[str, str]], Any]  # of a path and a query: what an API responds with, None for a 404


class Material(Struct, frozen=True):
    """What questions are asked about."""

    user: str  # of the platform
    history: tuple[SampleDeployment, ...]
    documents: dict[str, str]
    project: tuple[str, str]
    spec: ProblemSpec
    world: WorldModel
    functions: tuple[Callable[..., Any], ...]
    api: dict[str, Any]
    resource: Resource


# A platform: what has happened on it

_, ALICE, BOB, _ = USERS


def score_spec(name: str, image: str, resources: str, environment: str = "") -> str:
    return (
        f"apiVersion: score.dev/v1b1\nmetadata:\n  name: {name}\ncontainers:\n  web:\n    image: registry.example/ferry/{image}\n"
        f"resources:\n{resources}{environment}"
    )


PLATFORM_HISTORY = (
    SampleDeployment(
        300,
        ALICE,
        score_spec("ferry-tickets", "tickets:7.0.2", '  seats:\n    type: postgres\n    params: {version: "16", storage: 40Gi}\n'),
    ),
    SampleDeployment(
        90,
        ALICE,
        score_spec(
            "tide-tables",
            "tides:0.3.9",
            '  gauges:\n    type: postgres\n    params: {version: "14", storage: 2Gi}\n',
            "environment:\n  type: ephemeral\n  ttl: 48h\n",
        ),
    ),
    SampleDeployment(
        80,
        BOB,
        score_spec("crew-roster", "roster:2.2.0", '  shifts:\n    type: postgres\n    params: {version: "15", storage: 8Gi}\n'),
    ),
    SampleDeployment(
        20,
        ALICE,
        score_spec("lost-and-found", "lost:1.4.0", "  photos:\n    type: s3-bucket\n    params: {size: 120Gi}\n"),
        failure=SampleFailure(
            "provision-photos", "quota exceeded: team shop has 10 of 10 buckets", "storage-team: POST /buckets answered 409"
        ),
    ),
)
PLATFORM_DOCUMENTS = {
    "bookings.md": "# Bookings\n\nBookings are kept for 14 months after a sailing, then their names are removed.\n",
    "ports.md": "# Ports\n\nEvery port has a spare ticket printer in the office of the harbour master.\n",
}

# A project

PROJECT = ("A quieter canteen", "The canteen of a school from 1962 is too loud to talk in.")
SPEC = ProblemSpec(
    (
        Constraint("Money", "No more than 35,000 in all", 80),
        Constraint("Opening", "The canteen stays open during the works", 100),
        Constraint("Allergies", "Nothing that sheds fibres", 70),
        Constraint("Looks", "The ceiling of 1962 remains visible", 55),
    ),
    ("Below 65 decibels at a full table", "Children can hear the person opposite"),
)
WORLD = WorldModel(
    actors=(
        WorldEntry("Pupils", "420, in two sittings", "people"),
        WorldEntry("Kitchen staff", "9, three of them part-time", "people"),
        WorldEntry("Caretaker", "Mr Oyelaran, on site from 6:30", "person"),
    ),
    mechanisms=(
        WorldEntry("Echo", "Sound returns from the tiles for 1.9 seconds", "physics"),
        WorldEntry("Lombard effect", "People talk louder in noise, so noise grows", "feedback"),
    ),
    resources=(
        WorldEntry("Tables", "52", "furniture"),
        WorldEntry("Ceiling panels", "300 square metres in the depot", "material"),
        WorldEntry("Summer break", "Six weeks", "time"),
    ),
    constraints=(WorldEntry("Fire rules", "Panels must be class B", "law"),),
    assumptions=(WorldEntry("Numbers", "Not more than 440 pupils until 2031", ""),),
    simplifications=(WorldEntry("Kitchen noise", "Dishwashers are left out", ""),),
)

# Books

BOOKS = {"debian-history": "usr/share/doc/debian-history/docs", "debian-faq": "usr/share/doc/debian/FAQ"}


def fetch_books(folder: Path) -> Path:
    """Fetch the books into `folder`, each a folder of chapters; return the folder that has them."""
    courses = folder / "courses"
    for package, inside in BOOKS.items():
        book = courses / package
        if book.exists():
            continue
        subprocess.run(["apt-get", "download", "-qq", package], cwd=folder, check=True, capture_output=True)
        archive = next(folder.glob(f"{package}_*.deb"))
        subprocess.run(["dpkg-deb", "-x", str(archive), str(folder / "unpacked")], check=True)
        book.mkdir(parents=True)
        for chapter in sorted((folder / "unpacked" / inside).glob("*.en.html")):
            if not chapter.name.startswith("index."):
                (book / chapter.name).write_bytes(chapter.read_bytes())
    return courses


# A household: functions

_PLANTS = (
    {"name": "basil", "room": "kitchen", "water_every_days": 2, "last_watered": "2026-03-11"},
    {"name": "aloe", "room": "kitchen", "water_every_days": 21, "last_watered": "2026-02-20"},
    {"name": "monstera", "room": "living room", "water_every_days": 9, "last_watered": "2026-03-08"},
    {"name": "fern", "room": "bathroom", "water_every_days": 4, "last_watered": "2026-03-02"},
    {"name": "lemon tree", "room": "balcony", "water_every_days": 5, "last_watered": "2026-03-10"},
)
_EXPENSES = (
    {"date": "2026-02-03", "shop": "Markthalle", "what": "groceries", "amount": 48.15},
    {"date": "2026-02-19", "shop": "Markthalle", "what": "groceries", "amount": 64.25},
    {"date": "2026-02-24", "shop": "Kobalt", "what": "drill", "amount": 129.0},
    {"date": "2026-03-04", "shop": "Schuh Adler", "what": "shoes", "amount": 89.95},
    {"date": "2026-03-09", "shop": "Markthalle", "what": "groceries", "amount": 58.0},
)
_EVENTS = (
    {"date": "2026-03-12", "time": "18:00", "title": "parents' evening", "place": "Lindenschule, room 12"},
    {"date": "2026-03-14", "time": "19:15", "title": "choir rehearsal", "place": "St. Anna"},
    {"date": "2026-03-17", "time": "08:40", "title": "dentist", "place": "Feldweg 3"},
)
_CONTACTS = (
    {"name": "Ayodele", "phone": "0176 5550132", "email": "ayo@example.org", "town": "Kassel"},
    {"name": "Marit", "phone": "0047 5550177", "email": "marit@example.net", "town": "Bergen"},
)


@tool(effect="read")
def list_plants(room: str = "") -> list[dict[str, Any]]:
    """List my house plants with their room, how often they need water and when they last got some.

    Args:
        room: only those in this room
    """
    return [plant for plant in _PLANTS if room.lower() in str(plant["room"])]


@tool(effect="read")
def list_expenses(month: str = "", what: str = "") -> dict[str, Any]:
    """List what I spent, with the total.

    Args:
        month: only in this month, such as 2026-02
        what: only for this, such as groceries
    """
    found = [each for each in _EXPENSES if str(each["date"]).startswith(month) and what.lower() in str(each["what"])]
    return {"expenses": found, "total": round(sum(float(each["amount"]) for each in found), 2)}


@tool(effect="read")
def list_events(date: str = "") -> list[dict[str, str]]:
    """List what is in my calendar.

    Args:
        date: only on this day, such as 2026-03-12
    """
    return [event for event in _EVENTS if event["date"].startswith(date)]


@tool(effect="read")
def find_contact(name: str) -> dict[str, str]:
    """Find the phone number, the e-mail address and the town of somebody I know."""
    for contact in _CONTACTS:
        if contact["name"].lower() == name.strip().lower():
            return contact
    raise ToolProblem(f"There is no contact named {name!r}. Known: {', '.join(each['name'] for each in _CONTACTS)}.")


HOUSEHOLD = (list_plants, list_expenses, list_events, find_contact)

# A library: an HTTP API

_BOOKS = (
    {"title": "The Salt Road", "author": "Ursula Grosse", "year": 2004, "shelf": "B2", "copies_in": 3},
    {"title": "Glass Orchard", "author": "Ursula Grosse", "year": 2011, "shelf": "B2", "copies_in": 1},
    {"title": "A Short Walk to the Sea", "author": "Tom Okafor", "year": 1998, "shelf": "C7", "copies_in": 2},
    {"title": "Winter Engines", "author": "Dana Petrov", "year": 2019, "shelf": "D1", "copies_in": 0},
)
_LOANS = {
    "31": {"member": 31, "book": "Winter Engines", "due": "2026-04-28", "fees": 2.5},
    "44": {"member": 44, "book": "The Salt Road", "due": "2026-05-09", "fees": 0.0},
}
_HOURS = {
    **{day: {"opens": "10:00", "closes": "18:30"} for day in ("monday", "tuesday", "wednesday", "thursday", "friday")},
    "saturday": {"opens": "09:00", "closes": "13:00"},
    "sunday": {"closed": True},
}
_LIBRARY_EVENTS = (
    {"title": "Repair café", "date": "2026-05-16", "room": "attic", "places": 25},
    {"title": "Reading by Tom Okafor", "date": "2026-05-22", "room": "hall", "places": 60},
    {"title": "Chess evening", "date": "2026-06-03", "room": "hall", "places": 30},
)
_BRANCHES = (
    {"name": "Mill", "address": "Mill Lane 19", "lift": True},
    {"name": "Harbour", "address": "Quay 4", "lift": False},
)


def _find_books(query: dict[str, str]) -> Any:
    words = query.get("query", "").lower()
    return [book for book in _BOOKS if words in str(book["title"]).lower() or words in str(book["author"]).lower()]


def _answer_library(path: str, query: dict[str, str]) -> Any:
    """Return the JSON of a resource; None where there is none."""
    match path.strip("/").split("/"):
        case ["books"]:
            return _find_books(query)
        case ["members", member, "loans"]:
            return _LOANS.get(member)
        case ["hours", day]:
            return _HOURS.get(day.lower())
        case ["events"]:
            return [event for event in _LIBRARY_EVENTS if str(event["date"]).startswith(query.get("month", ""))]
        case ["branches"]:
            return _BRANCHES
        case _:
            return None


class _Api(BaseHTTPRequestHandler):
    resource: Resource

    def do_GET(self) -> None:
        """Answer a request."""
        address = urlsplit(self.path)
        found = type(self).resource(address.path, {name: values[0] for name, values in parse_qs(address.query).items()})
        body = msgspec.json.encode({"detail": "not found"} if found is None else found)
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Write nothing."""


def describe_operation(name: str, summary: str, *parameters: tuple[str, str, str]) -> dict[str, Any]:
    described = [
        {"name": field, "in": place, "required": place == "path", "description": about, "schema": {"type": "string"}}
        for field, place, about in parameters
    ]
    found: dict[str, Any] = {"200": {"description": "found", "content": {"application/json": {"schema": {}}}}}
    return {"get": {"operationId": name, "summary": summary, "parameters": described, "responses": found}}


LIBRARY_API: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Town library", "version": "1"},
    "paths": {
        "/books": describe_operation(
            "find_books", "Find books: author, year, shelf, copies that are in", ("query", "query", "words of the title or author")
        ),
        "/members/{member}/loans": describe_operation(
            "get_loans", "What a member has borrowed, until when, and the fees", ("member", "path", "the member's number")
        ),
        "/hours/{day}": describe_operation(
            "get_opening_hours", "Opening hours of a day of the week", ("day", "path", "such as monday")
        ),
        "/events": describe_operation("list_events", "Events with date, room and places", ("month", "query", "such as 2026-05")),
        "/branches": describe_operation("list_branches", "The branches with their addresses and lifts"),
    },
}


@contextmanager
def api_server(resource: Resource) -> Generator[str]:
    """Yield the address of an HTTP API with these resources."""
    handler = type("Api", (_Api,), {"resource": staticmethod(resource)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


FIRST = Material(
    user="alice",
    history=PLATFORM_HISTORY,
    documents=PLATFORM_DOCUMENTS,
    project=PROJECT,
    spec=SPEC,
    world=WORLD,
    functions=HOUSEHOLD,
    api=LIBRARY_API,
    resource=_answer_library,
)
