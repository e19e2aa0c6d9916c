"""Evaluations: datasets of cases, checks, repeated runs, reports and baselines. For pytest, and behind `treadle eval`.

Each name is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from treadle.lazy import lazy_exports

if TYPE_CHECKING:
    from treadle.evals.agents import TaskContext
    from treadle.evals.checks import CaseRun
    from treadle.evals.dataset import (
        Case,
        CaseMessage,
        Dataset,
        Expectations,
        ExpectedCall,
        ExpectedFile,
        ExpectedText,
        Rubric,
        SimulatedUser,
        load_dataset,
    )
    from treadle.evals.replay import Departure, ReplayReport, ReplayResult, replay_run
    from treadle.evals.results import (
        Attempt,
        CallSummary,
        CaseChange,
        CaseResult,
        CheckResult,
        EvalReport,
        compare_reports,
        load_report,
        report_to_json,
        wilson_interval,
    )
    from treadle.evals.runner import evaluate, evaluate_sync
    from treadle.evals.verdicts import PolicyTest, VerdictChange, compare_policy

_MODULES = {
    "agents": ("TaskContext",),
    "checks": ("CaseRun",),
    "dataset": (
        *("Case", "CaseMessage", "Dataset", "Expectations", "ExpectedCall", "ExpectedFile", "ExpectedText", "Rubric"),
        *("SimulatedUser", "load_dataset"),
    ),
    "results": (
        *("Attempt", "CallSummary", "CaseChange", "CaseResult", "CheckResult", "EvalReport", "compare_reports", "load_report"),
        *("report_to_json", "wilson_interval"),
    ),
    "replay": ("Departure", "ReplayReport", "ReplayResult", "replay_run"),
    "runner": ("evaluate", "evaluate_sync"),
    "verdicts": ("PolicyTest", "VerdictChange", "compare_policy"),
}
_HOMES = {name: f"treadle.evals.{module}" for module, names in _MODULES.items() for name in names}

__all__ = [
    "Attempt",
    "CallSummary",
    "Case",
    "CaseChange",
    "CaseMessage",
    "CaseResult",
    "CaseRun",
    "CheckResult",
    "Dataset",
    "Departure",
    "EvalReport",
    "Expectations",
    "ExpectedCall",
    "ExpectedFile",
    "ExpectedText",
    "PolicyTest",
    "ReplayReport",
    "ReplayResult",
    "Rubric",
    "SimulatedUser",
    "TaskContext",
    "VerdictChange",
    "compare_policy",
    "compare_reports",
    "evaluate",
    "evaluate_sync",
    "load_dataset",
    "load_report",
    "replay_run",
    "report_to_json",
    "wilson_interval",
]

__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
