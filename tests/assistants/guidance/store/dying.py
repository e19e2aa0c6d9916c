"""A process that is killed in the middle of a write: after the n-th thing it asks of the database, or just before it commits.

python dying.py FILE PROJECT VERSION N
"""

import asyncio
import os
import signal
import sys

from msgspec.structs import replace
from sqlalchemy import event
from sqlalchemy.engine import Engine

from treadle.assistants.guidance.store import ProblemSpec, Provenance, open_store


def die_after(number):
    left = number

    def asked(*_):
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(Engine, "after_cursor_execute", asked)
    event.listen(Engine, "commit", asked)


async def main(path, project, version, number):
    async with await open_store(path) as store:
        die_after(number)
        wanted = replace(ProblemSpec(), goals=(f"version {version + 1}",) * 300)
        await store.put_problem_spec("ada", project, wanted, expected=version, why=Provenance("again"))
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
