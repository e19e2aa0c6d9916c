"""Parser of the Test Anything Protocol as node's runner and others write it: results with indented subtests, each with a note."""

import re

from treadle.toolsets.checks.parsers.javascript import attach_load_errors, parse_frame
from treadle.toolsets.checks.parsers.tally import Tally, indent_of, join_message, unique_failures
from treadle.toolsets.checks.values import CheckFailure

_RESULT = re.compile(r"\s{0,80}(not )?ok (\d{1,9})(?: (?:- )?(.*))?$")
_DIRECTIVE = re.compile(r"(.*?)\s?# (SKIP|TODO)\b", re.IGNORECASE)
_SUBTEST = re.compile(r"\s{0,80}# Subtest: (.+)")
_PLAN = re.compile(r"(?:TAP version \d{1,3}|1\.\.\d{1,9})\s*$")
_PLACE = re.compile(r"'?(?:file://)?(.{1,500}?):(\d{1,9}):\d{1,9}'?$")
_NOT_LOADED = "test failed"
_STEP = 4  # how much further in parts are
_LONGEST_NOTE = 400  # lines


class _TapParser:
    """Parses results in order; a result that follows deeper ones is their sum, and not counted."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.failures: list[CheckFailure] = []
        self._names: list[str] = []
        self._before = 0  # how deep the result before was

    def read(self) -> None:
        """Parse all lines."""
        for at, line in enumerate(self._lines):
            if found := _SUBTEST.match(line):
                depth = indent_of(line) // _STEP
                self._names[depth:] = [found[1]]
            elif found := _RESULT.match(line):
                self._add_result(at, found)

    def _add_result(self, at: int, found: re.Match[str]) -> None:
        depth = indent_of(self._lines[at]) // _STEP
        whole, self._before = self._before > depth, depth
        directive = _DIRECTIVE.match(found[3] or "")
        if directive:
            self.counts["skipped"] += not whole
        elif not found[1]:
            self.counts["passed"] += not whole
        else:
            self._add_failure(at, depth, found[3] or found[2], whole=whole)

    def _add_failure(self, at: int, depth: int, name: str, *, whole: bool) -> None:
        note = _read_note(self._lines, at + 1)
        kind = _read_field(note, "failureType")
        if whole and kind in ([], ["subtestsFailed"]):
            return
        self.counts["failed"] += not whole
        names = [*self._names[:depth], name]
        self.failures.append(_parse_failure(" > ".join(names), note))


def parse_tap(lines: list[str]) -> Tally:
    """Count the results without subtests."""
    reader = _TapParser(lines)
    reader.read()
    seen = any(map(_PLAN.match, lines)) and any(map(_RESULT.match, lines))
    none = not seen and any(line.startswith("1..0") for line in lines)
    if not seen:
        return Tally(seen=none, none=none)
    errors = sum(failure.message == _NOT_LOADED for failure in reader.failures)
    failed = max(0, reader.counts["failed"] - errors)
    failures = unique_failures(attach_load_errors(reader.failures, _NOT_LOADED, lines))
    broken = any(line.startswith("Bail out!") for line in lines)
    return Tally(reader.counts["passed"], failed, reader.counts["skipped"], errors, failures, seen=True, broken=broken)


def _read_note(lines: list[str], start: int) -> list[str]:
    """Return the lines between `---` and `...` under a result."""
    if start >= len(lines) or lines[start].strip() != "---":
        return []
    own = indent_of(lines[start])
    note: list[str] = []
    for line in lines[start + 1 : start + _LONGEST_NOTE]:
        if line[own:] == "..." or (line.strip() and indent_of(line) < own):
            break
        note.append(line[own:])
    return note


def _read_field(note: list[str], name: str) -> list[str]:
    """Return the lines of a value; YAML, as far as runners write it."""
    for at, line in enumerate(note):
        if not line.startswith(f"{name}:"):
            continue
        value = line.partition(":")[2].strip()
        if value not in ("|-", "|", ">-", ">"):
            return [_unquote(value)]
        end = at + 1
        while end < len(note) and (not note[end].strip() or note[end].startswith(" ")):
            end += 1
        return note[at + 1 : end]
    return []


def _unquote(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value


def _parse_failure(name: str, note: list[str]) -> CheckFailure:
    message = join_message(_read_field(note, "error") or note)
    places = [found for line in _read_field(note, "stack") if (found := parse_frame(f"at {line.strip().removeprefix('at ')}"))]
    if places:
        return CheckFailure(name, message, *places[0])
    where = _PLACE.match("".join(_read_field(note, "location") or _read_field(note, "at")))
    return CheckFailure(name, message) if where is None else CheckFailure(name, message, where[1], int(where[2]))
