"""The four suites, by name."""

from agent_exam.case import Case
from agent_exam.suites import approval, kill, misbehaviour, provider

SUITES: dict[str, tuple[Case, ...]] = {
    "misbehaviour": misbehaviour.CASES,
    "provider": provider.CASES,
    "kill": kill.CASES,
    "approval": approval.CASES,
}
CASES: dict[str, Case] = {case.id: case for cases in SUITES.values() for case in cases}
