"""The harness's tools and its model as any package brings them to workers: an assistant `trades`, and models `planned:PLAN`.

They are installed for whoever has `INSTALLED` on its path. A run's world is in the folder that it works in.
"""

import os
import sys
from pathlib import Path

from bench.faults.orders import Order
from bench.faults.parts import PlannedModel, Trades
from bench.faults.points import Points
from bench.faults.world import World
from treadle import FunctionToolset, Limits, allow
from treadle.assistant import Assistant
from treadle.plugins.assistant import Host

NAME = "trades"
INSTALLED = Path(__file__).with_name("installed")
TAIL = "FAULTS_TAIL"  # in the environment: seconds that a tool goes on after its effect


def install() -> None:
    """Have both found in this process."""
    if str(INSTALLED) not in sys.path:
        sys.path.insert(0, str(INSTALLED))


def planned(plan: str) -> PlannedModel:
    """The model that sticks to a plan."""
    order = Order("", "", "", plan)
    return PlannedModel(order, Points(order))


def _toolsets(host: Host) -> list[FunctionToolset]:
    order = Order(str(host.workspace), "", "", "", tail=float(os.environ[TAIL]))
    return [FunctionToolset(Trades(order, World(host.workspace / "world"), Points(order)).tools())]


trades = Assistant(
    NAME, "Trades", "Has an effect of each kind.", toolsets=_toolsets, policy=[allow("*")], limits=Limits(rounds=None)
)
