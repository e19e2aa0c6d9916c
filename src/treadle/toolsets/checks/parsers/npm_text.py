"""Parser of the output of a package.json script, whatever runners it starts: all results found, added up.

Where none is known, the last lines may still count something as passed or failed.
"""

import re
from itertools import islice

from treadle.toolsets.checks.parsers import jest_text, mocha_text, node_spec, tap_text, vitest_text
from treadle.toolsets.checks.parsers.javascript import find_uncaught
from treadle.toolsets.checks.parsers.lines import split_output_lines
from treadle.toolsets.checks.parsers.tally import Tally, merge_tallies

_READERS = (  # each with what is in every result that it reads
    (jest_text.read, ("Test Suites: ", "No tests found, exiting")),
    (vitest_text.read, (" Test Files ", "No test files found")),
    (mocha_text.read, (" passing (", "No test files found")),
    (node_spec.read, ("\N{INFORMATION SOURCE} tests ",)),
    (tap_text.read, ("TAP version ", "1..")),
)
_COUNT = re.compile(r"(?<!\d)(\d{1,9})\s{1,4}(?:tests?\s{1,4})?(pass|fail|skip|pending|todo)(?:ed|ing|ped)?\b")
_LAST = 30  # lines in which counts are looked for


def read(text: str) -> Tally:
    """Return all results in the text."""
    lines = split_output_lines(text)
    tallies = (read(lines) for read, signs in _READERS if any(sign in text for sign in signs))
    found = [tally for tally in tallies if tally.seen]
    return merge_tallies(found) if found else _count_last_lines(lines)


def _count_last_lines(lines: list[str]) -> Tally:
    counts: dict[str, int] = {}
    for line in lines[-_LAST:]:
        for count, word in _COUNT.findall(line):
            counts.setdefault(word, int(count))
    failures = () if counts else tuple(islice(find_uncaught(lines), 1))
    skipped = sum(counts.get(word, 0) for word in ("skip", "pending", "todo"))
    return Tally(counts.get("pass", 0), counts.get("fail", 0), skipped, failures=failures, seen=bool(counts))
