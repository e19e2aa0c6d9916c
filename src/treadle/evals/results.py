"""Results of an evaluation, as data: checks of a run, attempts of a case, the report, and its comparison with a baseline."""

from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.files import NotOpened, read_named

VERSION = 1
Z = 1.959964  # of a 95 % interval
MAX_BYTES = 200_000_000  # of a report

CheckKind = Literal["stopped", "call", "forbidden", "output", "file", "cost", "seconds", "code", "judge", "attack"]
Change = Literal["same", "regressed", "improved", "new", "missing"]


class CheckResult(Struct, frozen=True):
    """One check of a run. `name` says what was checked, `detail` why it failed or what a judge said."""

    kind: CheckKind
    name: str
    passed: bool
    detail: str = ""


class CallSummary(Struct, frozen=True):
    """A call of a run, without secrets: its verdict, and the kind of problem if there was one."""

    tool: str
    arguments: dict[str, Any]
    verdict: Literal["allow", "ask", "deny"]
    problem: str | None = None


class Attempt(Struct, frozen=True):
    """One run of a case. `asked` are the calls that needed approval, `approved` how many of them the case approves."""

    run_id: str
    passed: bool
    stopped: str
    output: str = ""
    reason: str = ""
    checks: tuple[CheckResult, ...] = ()
    calls: tuple[CallSummary, ...] = ()
    asked: tuple[CallSummary, ...] = ()
    approved: int = 0
    seconds: float = 0.0
    cost: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def failed_checks(self) -> list[CheckResult]:
        """The checks that failed."""
        return [check for check in self.checks if not check.passed]


class CaseResult(Struct, frozen=True):
    """The attempts of one case."""

    name: str
    attempts: tuple[Attempt, ...]

    @property
    def passed(self) -> int:
        """How many attempts passed."""
        return sum(attempt.passed for attempt in self.attempts)

    @property
    def rate(self) -> float:
        """The share of attempts that passed."""
        return self.passed / len(self.attempts) if self.attempts else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the pass rate."""
        return wilson_interval(self.passed, len(self.attempts))


class EvalReport(Struct, frozen=True):
    """The result of an evaluation. `evaluation` is the id that its runs share."""

    dataset: str
    model: str
    cases: tuple[CaseResult, ...]
    evaluation: str = ""
    started_at: float = 0.0
    seconds: float = 0.0
    version: int = VERSION

    @property
    def attempts(self) -> list[Attempt]:
        """The attempts of all cases."""
        return [attempt for case in self.cases for attempt in case.attempts]

    @property
    def passed(self) -> bool:
        """Whether every attempt passed."""
        return all(attempt.passed for attempt in self.attempts)

    @property
    def rate(self) -> float:
        """The share of attempts that passed."""
        attempts = self.attempts
        return sum(attempt.passed for attempt in attempts) / len(attempts) if attempts else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the pass rate."""
        return wilson_interval(sum(attempt.passed for attempt in self.attempts), len(self.attempts))

    @property
    def cost(self) -> float | None:
        """US dollars; None where a price isn't known."""
        costs = [attempt.cost for attempt in self.attempts]
        return None if None in costs else sum([cost or 0.0 for cost in costs])

    def failures(self) -> str:
        """Return a line for each failed check, for the message of an assertion."""
        return "\n".join(
            [
                f"{case.name}: {check.kind} {check.name}: {check.detail}"
                for case in self.cases
                for attempt in case.attempts
                for check in attempt.failed_checks
            ]
        )


def wilson_interval(passed: int, total: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a rate, by Wilson's score; from 0 to 1 where nothing was counted."""
    if not total:
        return 0.0, 1.0
    rate = passed / total
    scale = 1 + Z * Z / total
    centre = (rate + Z * Z / (2 * total)) / scale
    spread = Z * sqrt(rate * (1 - rate) / total + Z * Z / (4 * total * total)) / scale
    low, high = max(0.0, centre - spread), min(1.0, centre + spread)
    return (0.0 if passed == 0 else low), (1.0 if passed == total else high)


class CaseChange(Struct, frozen=True):
    """How a case compares with the baseline; rates are None where there is no such case."""

    name: str
    change: Change
    before: float | None
    now: float | None


def compare_reports(report: EvalReport, baseline: EvalReport) -> list[CaseChange]:
    """Compare case by case.

    A case has regressed where the baseline's pass rate is above the confidence interval of the present one, and improved where it
    is below: chance alone is an unlikely reason then.
    """
    earlier = {case.name: case for case in baseline.cases}
    changes = [_compare(case, earlier.pop(case.name, None)) for case in report.cases]
    return [*changes, *[CaseChange(case.name, "missing", case.rate, None) for case in earlier.values()]]


def _compare(case: CaseResult, before: CaseResult | None) -> CaseChange:
    if before is None:
        return CaseChange(case.name, "new", None, case.rate)
    low, high = case.interval
    change: Change = "regressed" if before.rate > high else "improved" if before.rate < low else "same"
    return CaseChange(case.name, change, before.rate, case.rate)


def regressions(changes: Sequence[CaseChange]) -> list[CaseChange]:
    """Return the changes that are regressions."""
    return [change for change in changes if change.change == "regressed"]


def report_to_json(report: EvalReport, changes: Sequence[CaseChange] = ()) -> bytes:
    """Return a report as JSON, with the rates and intervals that follow from it; `load_report` reads it."""
    value: dict[str, Any] = {**msgspec.to_builtins(report), **_figures(report), "cost": report.cost}
    value["cases"] = [{**msgspec.to_builtins(case), **_figures(case)} for case in report.cases]
    if changes:
        value["changes"] = msgspec.to_builtins(changes)
    return msgspec.json.format(msgspec.json.encode(value), indent=1)


def _figures(value: CaseResult | EvalReport) -> dict[str, Any]:
    low, high = value.interval
    return {"passed": value.passed, "rate": round(value.rate, 4), "low": round(low, 4), "high": round(high, 4)}


def load_report(path: Path | str) -> EvalReport:
    """Read a report that `treadle eval --json` wrote. Raises `SettingsError`."""
    try:
        report = msgspec.json.decode(read_named(path, MAX_BYTES), type=EvalReport)
    except (NotOpened, msgspec.MsgspecError) as error:
        raise SettingsError(f"The report {path} can't be read: {error}; `treadle eval --json FILE` writes one.") from error
    if report.version > VERSION:
        raise SettingsError(f"The report {path} was written by a newer Treadle; update Treadle, or make it again.")
    return report
