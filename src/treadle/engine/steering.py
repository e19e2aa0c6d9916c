"""Messages that a user sends while a turn runs: journaled at once, and delivered to the model between two rounds.

When they are delivered is decided in `loop.decide`; here they are accepted and recorded.
"""

from treadle.core.entries import Delivered, Steered
from treadle.core.events import MessageDelivered, MessageReceived
from treadle.engine.journaled import JournaledRun
from treadle.engine.live import LiveRun
from treadle.engine.media import PromptParts


def takes_messages(run: JournaledRun) -> bool:
    """Return whether a message can still be taken in by the run's turn: it isn't over, or it waits for a person."""
    return run.state.finished is None or run.state.finished.stopped == "waiting"


async def accept_message(run: JournaledRun, said: PromptParts, message_id: str) -> None:
    """Record a message and wait until it is safe on disk. One that the run has already is recorded no second time."""
    if message_id not in run.state.message_ids:
        run.record(Steered(id=message_id, text=said.text, parts=said.parts, at=run.now()))
        if isinstance(run, LiveRun):
            run.steered.set()
            run.emit(MessageReceived(run_id=run.id, message_id=message_id, text=run.redactor.text(said.text)))
    await run.flush()


def deliver_messages(run: LiveRun, message_ids: tuple[str, ...]) -> None:
    """Have messages join the conversation."""
    delivered = [message for message in run.state.steering if message.id in message_ids]
    run.steered.clear()
    run.record(Delivered(message_ids=message_ids, at=run.now()))
    for message in delivered:
        run.emit(MessageDelivered(run_id=run.id, message_id=message.id, text=run.redactor.text(message.text)))
