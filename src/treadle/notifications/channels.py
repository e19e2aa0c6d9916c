"""Channels: send one notification by webhook, Slack-compatible webhook, e-mail or to the desktop. A failure is an exception."""

import asyncio
import os
import shutil
import smtplib
import ssl
from time import time

from treadle.core.errors import SettingsError, TreadleError
from treadle.http_guard.client import Client
from treadle.http_guard.origins import parse_target
from treadle.http_guard.problems import HttpProblem
from treadle.notifications.message import Notification, to_email, to_slack, to_webhook, webhook_headers
from treadle.settings.schema import NotificationSettings, SmtpSettings

TIMEOUT = 15.0  # seconds of a delivery
PASSWORD_VARIABLE = "TREADLE_SMTP_PASSWORD"  # noqa: S105 - the name of one
MAX_RESPONSE = 100_000  # bytes


class DeliveryFailed(TreadleError):
    """A notification couldn't be delivered; it is tried again."""


def check_channel(name: str, channel: NotificationSettings, smtp: SmtpSettings) -> None:
    """Raise with a sentence where a channel can't send anything: without a target, a secret or a mail server."""
    if not (channel.url or channel.email or channel.desktop):
        raise SettingsError(f"notifications.{name} needs a target: url, email, or desktop = true.")
    if channel.url and channel.format == "webhook" and not os.environ.get(channel.secret_variable):
        raise SettingsError(
            f"notifications.{name} sends a signed webhook, and the variable {channel.secret_variable} has no secret:"
            ' set it, or use format = "slack", which isn\'t signed.'
        )
    if channel.email and not (smtp.host and smtp.sender):
        raise SettingsError(f"notifications.{name} sends e-mail: set smtp.host and smtp.sender as well.")


async def send(notification: Notification, channel: NotificationSettings, smtp: SmtpSettings) -> None:
    """Send a notification to all targets of a channel."""
    if channel.url:
        await _send_webhook(notification, channel)
    if channel.email:
        await asyncio.to_thread(_send_email, notification, channel.email, smtp)
    if channel.desktop:
        await _show_on_desktop(notification)


async def _send_webhook(notification: Notification, channel: NotificationSettings) -> None:
    if channel.format == "slack":
        body, headers = to_slack(notification), {"content-type": "application/json"}
    else:
        body = to_webhook(notification)
        headers = webhook_headers(notification.id, body, os.environ.get(channel.secret_variable, ""), time())
    try:
        origin = str(parse_target(channel.url).origin)
        client = Client([origin], private=channel.private, timeout=TIMEOUT, limit=MAX_RESPONSE)
        response = await client.send("POST", channel.url, headers=headers, body=body)
    except HttpProblem as problem:
        raise DeliveryFailed(str(problem)) from problem
    if not 200 <= response.status < 300:
        raise DeliveryFailed(f"The receiver responded with status {response.status}.")


def _send_email(notification: Notification, recipients: tuple[str, ...], smtp: SmtpSettings) -> None:
    context = ssl.create_default_context()
    try:
        message = to_email(notification, smtp.sender, recipients)
        if smtp.security == "tls":
            opened: smtplib.SMTP = smtplib.SMTP_SSL(smtp.host, smtp.port, timeout=TIMEOUT, context=context)
        else:
            opened = smtplib.SMTP(smtp.host, smtp.port, timeout=TIMEOUT)
        with opened as server:
            if smtp.security == "starttls":
                server.starttls(context=context)
            if smtp.username:
                server.login(smtp.username, os.environ.get(PASSWORD_VARIABLE, ""))
            server.send_message(message)
    except (OSError, smtplib.SMTPException, ValueError) as error:
        raise DeliveryFailed(f"The mail server {smtp.host} didn't take the e-mail ({type(error).__name__}).") from error


async def _show_on_desktop(notification: Notification) -> None:
    program = shutil.which("notify-send")
    if program is None:
        raise DeliveryFailed("There is no notify-send on this machine.")
    urgency = "critical" if notification.event == "approval" else "normal"
    words = ("--app-name=Treadle", f"--urgency={urgency}", "--", notification.headline, notification.url)
    process = await asyncio.create_subprocess_exec(program, *words, stdin=asyncio.subprocess.DEVNULL)
    try:
        async with asyncio.timeout(TIMEOUT):
            status = await process.wait()
    except TimeoutError as error:
        process.kill()
        await process.wait()
        raise DeliveryFailed("notify-send didn't end.") from error
    if status != 0:
        raise DeliveryFailed(f"notify-send ended with status {status}.")
