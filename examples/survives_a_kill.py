"""The process is killed in the middle of a payment. A person looks, the run goes on elsewhere, and nothing is paid twice."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from treadle import Agent, Request, Scripted, allow, tool
from treadle.models.scripted import ScriptedReply, calls


def ledger() -> Path:
    return Path(os.environ["TREADLE_HOME"]) / "ledger"


@tool
def pay(amount: int) -> str:
    """Pay an amount.

    :param amount: in cents
    """
    with ledger().open("a") as file:
        file.write(f"paid {amount}\n")
    if amount == 200:
        os.kill(os.getpid(), signal.SIGKILL)  # paid, but nobody will ever hear of it from this process
    return "paid"


def reply(request: Request) -> ScriptedReply | str:
    """The same reply to the same conversation: the model of this example."""
    done = sum(message.role == "tools" for message in request.history)
    return calls(("pay", {"amount": (100, 200, 300)[done]})) if done < 3 else "All three are dealt with."


agent = Agent(Scripted(*[reply] * 9), tools=[pay], policy=[allow("pay")])

if len(sys.argv) > 1:
    if sys.argv[1] == "start":
        agent.run_sync("Pay the three bills.", run_id="bills", journal=True)
    result = agent.resume_sync("bills")
    for asked in result.approvals:  # nobody but a person can tell what became of it; here they look into the ledger
        print(f"What became of {asked.name}({asked.arguments['amount']})? {asked.reason}")
        said = "happened" if f"paid {asked.arguments['amount']}\n" in ledger().read_text() else "again"
        asyncio.run(agent.settle(asked.run_id, asked.call_id, said, by="Ann", journal=True))
        result = agent.resume_sync("bills")
    print(result.output)
    for call in result.calls:
        print(f"  {call.arguments['amount']}: {call.problem or 'paid'}")
else:
    with tempfile.TemporaryDirectory() as home:
        os.environ["TREADLE_HOME"] = home
        killed = subprocess.run([sys.executable, __file__, "start"], check=False)
        print(f"killed by signal {-killed.returncode}", flush=True)
        subprocess.run([sys.executable, __file__, "resume"], check=True)
        print(f"ledger: {ledger().read_text().split()}")
