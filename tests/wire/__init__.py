"""A real HTTP server on loopback that speaks as model servers do, from one script for every wire.

    with WireServer([call("add", {"a": 1, "b": 2}), say("three")]) as server:
        model = wire.model(server, "anthropic", stream=True)

A script is a list of replies, or a function of each request that returns one. It misbehaves as told: see `script`.
"""

from wire.requests import ADD, ask, calls_in, collect, hear, request, said, text_in, thinking_in
from wire.script import (
    Answer,
    Raw,
    Refusal,
    Reply,
    break_off,
    call,
    events,
    gate,
    lines,
    pause,
    raw,
    refuse,
    reply,
    say,
    stall,
    think,
    verbatim,
)
from wire.server import Received, Sent, WireServer, model

EVERY = [(name, stream) for name in ("openai", "anthropic") for stream in (True, False)]
ALL = [(name, stream) for name in ("openai", "anthropic", "ollama") for stream in (True, False)]

__all__ = [
    "ADD",
    "ALL",
    "EVERY",
    "Answer",
    "Raw",
    "Received",
    "Refusal",
    "Reply",
    "Sent",
    "WireServer",
    "ask",
    "break_off",
    "call",
    "calls_in",
    "collect",
    "events",
    "gate",
    "hear",
    "lines",
    "model",
    "pause",
    "raw",
    "refuse",
    "reply",
    "request",
    "said",
    "say",
    "stall",
    "text_in",
    "think",
    "thinking_in",
    "verbatim",
]
