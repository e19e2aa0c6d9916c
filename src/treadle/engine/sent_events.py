"""Events that are sent to waiting calls: checked, and stored for the calls that wait for them."""

import re

import msgspec

from treadle.core.calls import Delivery
from treadle.core.errors import EventError, EventNotAwaited
from treadle.engine.setup import Services
from treadle.tools.text import to_json_value

MAX_VALUE = 256 * 1024  # bytes of an event's value, as JSON
MAX_NAME = 200  # characters of a name or key
_CONTROL = re.compile(r"[\x00-\x1f]")


async def send_event(services: Services, name: str, key: str, delivery: Delivery) -> list[str]:
    """Store an event for the calls that wait for it; return their top-level runs. Raises `EventNotAwaited` where there are none."""
    if services.waits is None:
        raise EventNotAwaited("No run waits here: only runs in a database can.")
    check_event_name(name, key)
    try:
        value = to_json_value(delivery.value)
    except (TypeError, ValueError) as error:
        raise EventError(f"The value of an event has to be JSON: {error}") from error
    size = len(msgspec.json.encode(value))
    if size > MAX_VALUE:
        raise EventError(f"The value of an event may have {MAX_VALUE:,} bytes, and this one has {size:,}: send a reference.")
    sent = await services.waits.deliver(name, key, Delivery(value, delivery.sender, delivery.from_user), services.clock())
    if not sent:
        what = f"the event {name!r}{f' of {key!r}' if key else ''}"
        raise EventNotAwaited(f"No run waits for {what}. If one is about to, send the event again later.")
    return sent


def check_event_name(name: str, key: str) -> None:
    """Raise `EventError` for a name or key that none can wait for."""
    if not name or any(len(text) > MAX_NAME or _CONTROL.search(text) for text in (name, key)):
        raise EventError(f"An event has a name, and may have a key: up to {MAX_NAME} characters each, and no control characters.")
