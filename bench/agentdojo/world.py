"""AgentDojo's tools as a toolset: what each does to the world, and whether others can write into what it returns.

Both are what whoever sets such tools up would declare; nothing here looks at tasks. The four suites are worlds of a mail and file
account, a travel agency, a bank and a chat. Untrusted is the rule; trusted are only the person's own data, lists that the service
itself keeps (who is a member), and the clock. The toolset is that of `treadle eval import agentdojo`.
"""

from functools import cache
from typing import Any

from agentdojo.task_suite.task_suite import TaskSuite

from treadle.evals.suites.agentdojo import SENDING, TRUSTED, VERSION, SuiteToolset, effect_of, load_suites

__all__ = ["TRUSTED", "VERSION", "World", "counts", "suites"]

World = SuiteToolset


@cache
def suites() -> dict[str, TaskSuite[Any]]:
    """The four suites by name."""
    return load_suites()


def counts(name: str) -> bool:
    """Whether a tool's calls are counted: all that do anything to the world, or tell somebody outside something."""
    return effect_of(name) != "read" or name in SENDING
