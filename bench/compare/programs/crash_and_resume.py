"""The process is killed in the middle of a payment, and another process goes on. Needs DBOS.

DBOS repeats the step that was interrupted, so the tool itself has to find out whether it has paid before.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from dbos import DBOS, SetWorkflowID
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability
from scripted import calls, scripted

ledger = Path("ledger.txt")
model = os.environ.get("MODEL") or scripted(
    calls(("pay", {"amount": 100})), calls(("pay", {"amount": 200})), calls(("pay", {"amount": 300})), "All three are paid."
)
agent = Agent(model, name="bills", capabilities=[DBOSDurability()])


@agent.tool_plain
@DBOS.step()
def pay(amount: int) -> str:
    """Pay an amount.

    Args:
        amount: in cents
    """
    if ledger.exists() and f"paid {amount}\n" in ledger.read_text():
        return "paid"
    with ledger.open("a") as file:
        file.write(f"paid {amount}\n")
    if amount == 200:
        os.kill(os.getpid(), signal.SIGKILL)
    return "paid"


@DBOS.workflow()
def pay_bills() -> str:
    return agent.run_sync("Pay the three bills: 100, 200 and 300.").output


if sys.argv[1:] == ["work"]:
    DBOS(config={"name": "bills", "system_database_url": "sqlite:///bills.sqlite", "log_level": "ERROR"})
    DBOS.launch()
    with SetWorkflowID("bills"):
        print(DBOS.start_workflow(pay_bills).get_result())
    DBOS.destroy()
else:
    with tempfile.TemporaryDirectory() as folder:
        killed = subprocess.run([sys.executable, __file__, "work"], cwd=folder, check=False)
        print(f"killed by signal {-killed.returncode}", flush=True)
        subprocess.run([sys.executable, __file__, "work"], cwd=folder, check=True)
        print(f"ledger: {Path(folder, ledger).read_text().splitlines()}")
