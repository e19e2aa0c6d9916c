"""The content of a notification, and the forms in which channels send it. It has no arguments and no results of calls.

What a model or a tool wrote may be untrusted or secret: tools are named, and the link shows the rest to users who sign in.
"""

import base64
import hmac
from email.message import EmailMessage
from hashlib import sha256
from typing import Any, Literal

import msgspec
from msgspec import Struct

NotificationEvent = Literal["approval", "result"]
SECRET_PREFIX = "whsec_"  # noqa: S105 - how secrets of the Standard Webhooks begin, followed by base64


class WaitingApproval(Struct, frozen=True):
    """A call that waits for approval."""

    call_id: str
    tool: str


class Notification(Struct, frozen=True):
    """What has happened to a run. `answer` is there only where the channel asks for it; `url` is the run's page."""

    id: str
    event: NotificationEvent
    run_id: str
    title: str
    agent: str
    user: str
    status: str
    at: float
    url: str = ""
    approvals: tuple[WaitingApproval, ...] = ()
    answer: str = ""

    @property
    def headline(self) -> str:
        """One sentence about it."""
        what = " ".join(self.title.split())[:100] or self.run_id
        if self.event == "approval":
            tools = ", ".join(dict.fromkeys(each.tool for each in self.approvals))
            return f"Approval needed for {tools}: {what}"
        return f"Run {self.status}: {what}"

    @property
    def text(self) -> str:
        """The sentence, the answer and the link, as plain text."""
        return "\n\n".join(part for part in (self.headline, self.answer, self.url) if part)


def to_webhook(notification: Notification) -> bytes:
    """Return the body of a webhook."""
    return msgspec.json.encode({"type": f"run.{notification.event}", "data": msgspec.to_builtins(notification)})


def webhook_headers(notification_id: str, body: bytes, secret: str, now: float) -> dict[str, str]:
    """Return the headers that sign a webhook: those of the Standard Webhooks, with HMAC-SHA256 over id, time and body."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX)) if secret.startswith(SECRET_PREFIX) else secret.encode()
    moment = str(int(now))
    signature = hmac.new(key, f"{notification_id}.{moment}.".encode() + body, sha256).digest()
    return {
        "content-type": "application/json",
        "webhook-id": notification_id,
        "webhook-timestamp": moment,
        "webhook-signature": f"v1,{base64.b64encode(signature).decode()}",
    }


def to_slack(notification: Notification) -> bytes:
    """Return the body of an incoming webhook of Slack, and of services that take the same."""
    lines = [f"*{_escape_slack(notification.headline)}*"]
    if notification.answer:
        lines.append(_escape_slack(notification.answer))
    if notification.url:
        lines.append(f"<{notification.url}|Open the run>")
    body: dict[str, Any] = {"text": "\n".join(lines)}
    return msgspec.json.encode(body)


def _escape_slack(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def to_email(notification: Notification, sender: str, recipients: tuple[str, ...]) -> EmailMessage:
    """Return an e-mail."""
    message = EmailMessage()
    message["Subject"] = notification.headline
    message["From"] = sender
    message["To"] = ", ".join(recipients)
    message["Message-ID"] = f"<{notification.id}@{sender.rpartition('@')[2].rstrip('>') or 'treadle'}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(f"{notification.text}\n")
    return message
