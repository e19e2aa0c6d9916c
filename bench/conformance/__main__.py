"""The command line: `python -m bench.conformance`. Runs all scenarios that apply; tables go to `bench/results/mcp-conformance.md`.

Ends with an error where one of them fails.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from bench.conformance.scenarios import why_not
from bench.conformance.servers import of_command, of_server
from bench.conformance.suite import Outcome, listed, tried_on_client, tried_on_server, version

RESULTS = Path(__file__).parents[1] / "results" / "mcp-conformance.md"
PLACES = {"`treadle mcp --http`": of_command, "`/mcp/NAME` of the server": of_server}

Place = Callable[[Path], AbstractContextManager[str]]
Outcomes = Mapping[str, Mapping[str, Outcome]]  # by what was looked at, then by scenario


def main() -> int:
    """Run, print, write down."""
    known = listed()
    servers = {name: _servers(place, known["server"]) for name, place in PLACES.items()}
    clients = {"the client toolset": {each: tried_on_client(each) for each in _wanted("client", known["client"])}}
    page = _page(known, servers, clients)
    RESULTS.write_text(page, "utf-8")
    print(page)
    return 0 if all(each.is_good for found in (*servers.values(), *clients.values()) for each in found.values()) else 1


def _wanted(side: str, scenarios: Sequence[str]) -> list[str]:
    return [each for each in scenarios if not why_not(side, each)]


def _servers(place: Place, scenarios: Sequence[str]) -> dict[str, Outcome]:
    with tempfile.TemporaryDirectory() as folder, place(Path(folder)) as url:
        return {each: tried_on_server(each, url) for each in _wanted("server", scenarios)}


def _page(known: Mapping[str, Sequence[str]], servers: Outcomes, clients: Outcomes) -> str:
    lines = [
        "# MCP conformance",
        "",
        f"The Model Context Protocol's conformance suite {version()}, run by `make conformance`. A cell has the checks that passed",
        "of those that a scenario makes; what it only advises is told below.",
        "",
        "## Server",
        "",
        *_table(known["server"], servers),
        "",
        "## Client",
        "",
        *_table(known["client"], clients),
        "",
        *_notes({**servers, **clients}),
        "`tools-call-elicitation` wants a server that puts a question to its client's person. Ours puts one: may this call run?",
        "The suite answers with a name and an address, which is no yes, so the call is refused; that it was asked is checked.",
        "",
        "## What doesn't apply",
        "",
        "| | scenario | why |",
        "|---|---|---|",
        *[f"| {side} | {each} | {why} |" for side, found in known.items() for each in found if (why := why_not(side, each))],
        "",
    ]
    return "\n".join(lines)


def _table(scenarios: Sequence[str], outcomes: Outcomes) -> list[str]:
    applying = [each for each in scenarios if any(each in found for found in outcomes.values())]
    rows = [" | ".join([each, *[_cell(found[each]) for found in outcomes.values()]]) for each in applying]
    good = [_sum(list(found.values())) for found in outcomes.values()]
    head = f"| scenario | {' | '.join(outcomes)} |"
    return [head, "|---" * (1 + len(outcomes)) + "|", *[f"| {row} |" for row in rows], f"| all | {' | '.join(good)} |"]


def _sum(found: Sequence[Outcome]) -> str:
    """How many scenarios passed; one that checks nothing but what it advises has neither passed nor failed."""
    checked = [each for each in found if each.passed or each.failed]
    advised = f", {len(found) - len(checked)} only advised" if len(found) > len(checked) else ""
    return f"**{sum(each.is_good for each in checked)} of {len(checked)}**{advised}"


def _cell(outcome: Outcome) -> str:
    advised = f", {outcome.warned} advised" if outcome.warned else ""
    return f"{outcome.passed} of {outcome.passed + outcome.failed}{advised}" + ("" if outcome.is_good else " **failed**")


def _notes(outcomes: Outcomes) -> list[str]:
    said = {f"- {scenario}: {why}": None for found in outcomes.values() for scenario, each in found.items() for why in each.why}
    return ["What it advises or holds against us:", "", *said, ""] if said else []


if __name__ == "__main__":
    raise SystemExit(main())
