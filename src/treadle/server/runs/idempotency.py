"""Requests that begin a run once, however often they are sent (`Idempotency-Key`), and those that queue one for workers.

The key is the run's id, so that the journal itself refuses a second run; what was requested is journaled with the run as a digest.
"""

from collections.abc import Sequence
from hashlib import sha256

import msgspec
from starlette.exceptions import HTTPException

from treadle.core.entries import Entry
from treadle.core.errors import RunTaken
from treadle.home import Home
from treadle.plugins.assistant import Host
from treadle.plugins.models import configured_model
from treadle.server.models import ModelCatalog
from treadle.server.runs.journals import find_opened
from treadle.server.runs.schemas import TurnRequest
from treadle.stores.queue import DEFAULT_QUEUE, RunQueue
from treadle.workers.run_spec import RunSpec
from treadle.workers.submission import submit_run

MAX_KEY = 255  # characters
QUEUED = "queued"  # the status of a run that waits for a worker
KEY_REUSED = "This Idempotency-Key was used for another request; use a new key for each."


def run_id_of_key(key: str) -> str:
    """Return the id of the run that a key begins; empty without a key."""
    if len(key) > MAX_KEY:
        raise HTTPException(422, f"An Idempotency-Key has at most {MAX_KEY} characters.")
    return f"key-{sha256(key.encode()).hexdigest()[:32]}" if key else ""


def digest_request(asked: TurnRequest) -> str:
    """Return a digest of a request, to tell whether another one is the same."""
    values = msgspec.to_builtins(asked)
    kept = {name: value for name, value in values.items() if name not in ("queue", "priority") or value}
    return sha256(msgspec.json.encode(kept)).hexdigest()


def check_same_request(entries: Sequence[Entry], digest: str) -> None:
    """Raise where a run was begun by another request."""
    if find_opened(entries).origin.get("request") != digest:
        raise HTTPException(422, KEY_REUSED)


async def submit_turn(host: Host, models: ModelCatalog, asked: TurnRequest, run_id: str) -> str:
    """Queue a message as a run for workers; return its id. The same request with the same `run_id` is one run."""
    if host.shared:
        raise HTTPException(409, "Workers execute the runs of the server's owner; leave `where` out to have the server execute it.")
    if asked.run_id or asked.call or asked.context or asked.attachments:
        raise HTTPException(422, "A run for workers is a new one with a message: leave `run_id`, `call`, `context` and files out.")
    name, address = await _model_of(models, asked.model or "")
    order = RunSpec(
        *(asked.assistant, name, address, asked.instructions or ""),
        queue=asked.queue or DEFAULT_QUEUE,
        priority=asked.priority,
        any_version=asked.any_version,
    )
    try:
        return await submit_run(host.home, order, asked.message, user=host.user, run_id=run_id)
    except RunTaken as error:
        raise HTTPException(422, KEY_REUSED) from error


async def _model_of(models: ModelCatalog, asked: str) -> tuple[str, str]:
    """Return the name and the address of the model that a worker uses: the requested one, or the server's default."""
    await models.check(asked)
    if asked:
        return asked, ""
    name, problem = await models.default()
    if not name:
        raise HTTPException(503, problem)
    configured, address = configured_model()
    return name, address if name == configured else ""


async def status_of(home: Home, run_id: str) -> str:
    """Return the status of a run; one that a worker has yet to begin or continue is queued."""
    status = (await home.journal.info(run_id)).status
    return QUEUED if await RunQueue(home.database).has(run_id) and not await home.leases.is_held(run_id) else status
