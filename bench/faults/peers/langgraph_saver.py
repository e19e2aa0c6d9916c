"""LangGraph with its SQLite saver: a node that acts and goes on to itself, twenty times. `how` is the durability."""

import time
from pathlib import Path
from typing import Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from bench.faults.births import Tell, serve
from bench.faults.orders import Life, Order
from bench.faults.peers import STEPS, effect
from bench.faults.plans import DONE
from bench.faults.world import World


class Steps(TypedDict):
    """Where the graph is."""

    number: int


def living(order: Order, tell: Tell) -> Life:
    """A life: go on from the last checkpoint, if there is one."""
    Path(order.home).mkdir(exist_ok=True)
    with SqliteSaver.from_conn_string(f"{order.home}/{order.run_id}.sqlite") as saver:
        graph: Any = _graph(order).compile(checkpointer=saver)
        config = {"configurable": {"thread_id": order.run_id}, "recursion_limit": 10 * STEPS}
        tell()
        known = saver.get_tuple({"configurable": {"thread_id": order.run_id}}) is not None
        graph.invoke(None if known else {"number": 0}, config, durability=order.how)
    return Life(stopped="answered", text=DONE)


def _graph(order: Order) -> Any:
    def act(state: Steps) -> Steps:
        World(Path(order.folder) / "world").happen(order.run_id, effect(state["number"]))
        time.sleep(order.tail)
        return {"number": state["number"] + 1}

    graph: Any = StateGraph(Steps)
    graph.add_node("act", act)
    graph.add_edge(START, "act")
    graph.add_conditional_edges("act", lambda state: "act" if state["number"] < STEPS else END)
    return graph


if __name__ == "__main__":
    serve(living, "bench.faults.peers.langgraph_saver")
