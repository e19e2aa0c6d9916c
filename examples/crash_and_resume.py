"""The process is killed in the middle of a payment. A person checks, another process resumes the run, and nothing is paid twice."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from treadle import Agent, allow, tool
from treadle.models import Request
from treadle.testing import Scripted, ScriptedReply, calls

ledger = Path("ledger.txt")


@tool
def pay(amount: int) -> str:
    """Pay an amount.

    :param amount: in cents
    """
    with ledger.open("a") as file:
        file.write(f"paid {amount}\n")
    if amount == 200:
        os.kill(os.getpid(), signal.SIGKILL)  # paid, but this process can't report it any more
    return "paid"


def reply(request: Request) -> ScriptedReply | str:
    """Return the reply to a conversation, in whichever process."""
    done = sum(message.role == "tools" for message in request.history)
    return calls(("pay", {"amount": (100, 200, 300)[done]})) if done < 3 else "All three are paid."


model = os.environ.get("TREADLE_MODEL") or Scripted(*[reply] * 4)
agent = Agent(model, tools=[pay], policy=[allow("pay")])

if sys.argv[1:] == ["start"]:
    agent.run_sync("Pay the three bills: 100, 200 and 300.", run_id="bills", journal=True)
elif sys.argv[1:] == ["resume"]:
    for call in agent.resume_sync("bills").approvals:  # only a person can find out what happened; here, from the ledger
        paid = f"paid {call.arguments['amount']}\n" in ledger.read_text()
        asyncio.run(agent.settle("bills", call.call_id, "happened" if paid else "again", by="Ann"))
    print(agent.resume_sync("bills").output)
else:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TREADLE_HOME"] = folder
        killed = subprocess.run([sys.executable, __file__, "start"], cwd=folder, check=False)
        print(f"killed by signal {-killed.returncode}", flush=True)
        subprocess.run([sys.executable, __file__, "resume"], cwd=folder, check=True)
        print(f"ledger: {Path(folder, ledger).read_text().splitlines()}")
