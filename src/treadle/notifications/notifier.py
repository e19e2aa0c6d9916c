"""The notifier: makes deliveries of turns that have ended, and sends those that are due, of one or more homes.

Servers and workers run it. Any number of them may: each delivery is claimed by one. A delivery that fails is tried again with
increasing delays, for about a day; then it stays in the outbox, with its problem.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from time import time

import msgspec
from msgspec import Struct

from treadle.core.entries import Finished
from treadle.core.errors import RunNotFound, SettingsError, TreadleError
from treadle.core.log import log
from treadle.guard.redaction import Redactor
from treadle.home import Home
from treadle.notifications.channels import DeliveryFailed, check_channel, send
from treadle.notifications.message import Notification, NotificationEvent, WaitingApproval
from treadle.runs import Runs
from treadle.settings.schema import NotificationSettings, Settings, SmtpSettings
from treadle.stores.journal import RunInfo
from treadle.stores.outbox import EndedTurn, Outbox, OutboxDelivery

POLL_SECONDS = 1.0  # between two looks
CLAIM_SECONDS = 120.0  # for which a delivery is one process's
DELAYS = (10.0, 60.0, 300.0, 1800.0, 7200.0, 21600.0, 43200.0)  # seconds before each further try
MAX_ANSWER = 4_000  # characters


class _DeliveryBody(Struct, frozen=True):
    """What is stored of a delivery; everything else is read when it is sent, as it is then."""

    event: NotificationEvent
    status: str
    at: float


class Notifier:
    """Notifies about the runs of homes. `public_url` is the address of the server's pages, for links."""

    def __init__(
        self,
        channels: Mapping[str, NotificationSettings],
        smtp: SmtpSettings,
        public_url: str = "",
        clock: Callable[[], float] = time,
    ) -> None:
        self._channels = channels
        self._smtp = smtp
        self._public_url = public_url.rstrip("/")
        self._clock = clock
        self._since = clock()
        self._enabled: set[str] = set()

    async def look(self, home: Home) -> int:
        """Store deliveries for turns that have ended, send what is due, and return how many were sent."""
        outbox = Outbox(home.database)
        if home.database.name not in self._enabled:
            await outbox.enable(self._since)
            self._enabled.add(home.database.name)
        for turn in await outbox.list_ended_turns():
            await outbox.store(turn, await self._deliveries_of(home, turn))
        sent = 0
        for delivery in await outbox.claim(self._clock(), CLAIM_SECONDS):
            sent += await self._deliver(home, outbox, delivery)
        return sent

    async def _deliveries_of(self, home: Home, turn: EndedTurn) -> list[OutboxDelivery]:
        """Return the deliveries of a turn: none where it waits for a time or an event only."""
        try:
            run = await home.journal.info(turn.run_id)
            event: NotificationEvent = "approval" if run.status == "waiting" else "result"
            if run.status == "open" or (event == "approval" and not await Runs(home).approvals(run.run_id)):
                return []
        except RunNotFound:
            return []
        body = msgspec.json.encode(_DeliveryBody(event, run.status, turn.at)).decode()
        return [
            OutboxDelivery(
                f"{turn.run_id}.{event}.{turn.at * 1000:.0f}.{name}",
                turn.run_id,
                name,
                body,
                turn.at + (channel.after_minutes * 60 if event == "approval" else 0),
            )
            for name, channel in self._channels.items()
            if _concerns(channel, event, run)
        ]

    async def _deliver(self, home: Home, outbox: Outbox, delivery: OutboxDelivery) -> int:
        channel = self._channels.get(delivery.channel)
        notification = None if channel is None else await self._build(home, delivery, channel)
        if channel is None or notification is None:  # the channel was removed, or what it is about is answered or deleted
            await outbox.remove(delivery.id)
            return 0
        try:
            await send(notification, channel, self._smtp)
        except DeliveryFailed as error:
            tries = delivery.tries + 1
            due = self._clock() + DELAYS[tries - 1] if tries <= len(DELAYS) else None
            log.warning("Notification %s couldn't be delivered by %s: %s", delivery.id, delivery.channel, error)
            await outbox.postpone(delivery.id, due, tries, Redactor().text(str(error)))
            return 0
        await outbox.remove(delivery.id)
        return 1

    async def _build(self, home: Home, delivery: OutboxDelivery, channel: NotificationSettings) -> Notification | None:
        """Return the notification as it is now; None where an approval was answered meanwhile, or the run is gone."""
        body = msgspec.json.decode(delivery.body, type=_DeliveryBody)
        try:
            run = await home.journal.info(delivery.run_id)
            waiting = await Runs(home).approvals(run.run_id) if body.event == "approval" else []
        except RunNotFound:
            return None
        if body.event == "approval" and (run.status != "waiting" or run.updated_at != body.at or not waiting):
            return None
        answer = await _read_answer(home, run.run_id, body.at) if channel.answers and body.event == "result" else ""
        return Notification(
            delivery.id,
            body.event,
            run.run_id,
            run.title,
            run.agent,
            run.user,
            body.status,
            body.at,
            f"{self._public_url}/runs/{run.run_id}" if self._public_url else "",
            tuple([WaitingApproval(each.call_id, each.name) for each in waiting]),
            answer,
        )


def _concerns(channel: NotificationSettings, event: NotificationEvent, run: RunInfo) -> bool:
    if event not in channel.events or (event == "result" and channel.after_minutes):
        return False
    return any(fnmatchcase(run.user, pattern) for pattern in channel.users)


async def _read_answer(home: Home, run_id: str, at: float) -> str:
    """Return the answer of the turn that ended at a time, without secrets."""
    ends = [entry for entry in await home.journal.read(run_id) if isinstance(entry, Finished) and entry.at == at]
    text = Redactor().text(ends[-1].text or ends[-1].reason) if ends else ""
    return text if len(text) <= MAX_ANSWER else f"{text[:MAX_ANSWER]}…"


def make_notifier(settings: Settings) -> Notifier | None:
    """Return the notifier of these settings; None where there are no channels. Raises where one can't send."""
    if not settings.notifications:
        return None
    for name, channel in settings.notifications.items():
        check_channel(name, channel, settings.smtp)
        if not settings.server.public_url and "approval" in channel.events:
            raise SettingsError(f"notifications.{name} sends links to approvals: set server.public_url to the server's address.")
    return Notifier(settings.notifications, settings.smtp, settings.server.public_url)


@asynccontextmanager
async def run_notifier(settings: Settings, homes: Callable[[], Sequence[Home]]) -> AsyncGenerator[None]:
    """Notify about the runs of these homes, while the context is open; do nothing where there are no channels."""
    notifier = make_notifier(settings)
    if notifier is None:
        yield
        return
    task = asyncio.create_task(_look_repeatedly(notifier, homes))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _look_repeatedly(notifier: Notifier, homes: Callable[[], Sequence[Home]]) -> None:
    while True:
        try:
            for home in await asyncio.to_thread(homes):
                await notifier.look(home)
        except TreadleError as error:
            log.warning("Notifications are delayed: %s", error)
        await asyncio.sleep(POLL_SECONDS)
