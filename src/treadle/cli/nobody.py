"""An agent that never talks: for what needs a run's journal, but nobody to go on with it."""

from treadle.app.agent import Agent
from treadle.models.scripted import Scripted


def nobody() -> Agent[str]:
    """The agent."""
    return Agent(Scripted())
