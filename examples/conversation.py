"""A conversation that is stored: the second turn continues it, in this process or in another."""

import os

from treadle import Agent
from treadle.testing import Scripted

model = os.environ.get("TREADLE_MODEL") or Scripted("Hello Ann.", "You are Ann.")
agent = Agent(model)
first = agent.run_sync("I am Ann.", journal=True)
second = agent.run_sync("Who am I?", run_id=first.run_id, journal=True)
print(first.output, second.output, f"{len(second.history)} messages", sep="\n")
