"""A deterministic model with a small context window, over OpenAI's chat completions.

It knows what it is sent and nothing else: a question is answered if the fact is in the request, else by a search of the
conversation's history if a tool for that is offered, else not. A request beyond the window is refused as providers do. The model
called `summarizer` writes an extractive summary with a fixed budget, the same for every framework.
"""

import json
import os.path
import re
import threading
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bench.long_sessions.session import work

WINDOW = 8_000  # tokens
CHARACTERS_PER_TOKEN = 4
SUMMARY = 1_500  # characters of a summary
SUMMARIZER = "summarizer"

_TURN = re.compile(r"\[turn (\d+)\](?!.*\[turn )(.*)", re.DOTALL)
_QUESTION = re.compile(r"What is the access code of depot ([A-Z]+)\?")
_RECORD = re.compile(r"Look up the record of depot ([A-Z]+) ")


@dataclass
class Counts:
    """What a session has cost, by the server's own count. `repeated` are input tokens that begin as the request before did."""

    requests: int = 0
    summaries: int = 0
    refused: int = 0
    input_tokens: int = 0
    repeated_tokens: int = 0
    output_tokens: int = 0
    searches: int = 0


class MockModel:
    """The model's replies and counts, by session."""

    def __init__(self) -> None:
        self.counts: dict[str, Counts] = defaultdict(Counts)
        self._last: dict[str, str] = {}
        self._lock = threading.Lock()

    def answer(self, session: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the status and the message, or the error, for a request."""
        messages: list[dict[str, Any]] = body["messages"]
        tools: list[dict[str, Any]] = body.get("tools") or []
        sent = json.dumps([tools, messages])
        tokens = len(sent) // CHARACTERS_PER_TOKEN
        with self._lock:
            counts = self.counts[session]
            counts.requests += 1
            if tokens > WINDOW:
                counts.refused += 1
                return 400, {"error": _refusal(tokens)}
            counts.input_tokens += tokens
            if body["model"] == SUMMARIZER:
                counts.summaries += 1
            else:
                alike = os.path.commonprefix([sent, self._last.get(session, "")])  # noqa: RUF071 - by character
                counts.repeated_tokens += len(alike) // CHARACTERS_PER_TOKEN
                self._last[session] = sent
        message: dict[str, Any] = {"content": summarize(messages)} if body["model"] == SUMMARIZER else reply(messages, tools)
        out = len(json.dumps(message)) // CHARACTERS_PER_TOKEN
        with self._lock:
            counts.output_tokens += out
            counts.searches += any(call["function"]["name"] != "depot_record" for call in message.get("tool_calls", []))
        return 200, {"message": {"role": "assistant", **message}, "prompt_tokens": tokens, "completion_tokens": out}


def _refusal(tokens: int) -> dict[str, str]:
    text = f"This model's maximum context length is {WINDOW} tokens. However, your messages resulted in {tokens} tokens."
    return {"message": text, "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}


def _text_of(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join([part.get("text", "") for part in content])


def reply(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the model's message: a call, an answer, or a few words about the work."""
    if depot := _searched_depot(messages):  # also where a framework has compacted the question itself meanwhile
        code = find_code(depot, "\n".join(map(_text_of, messages)))
        return {"content": f"It is {code}." if code else "I don't know."}
    asked_at = max((index for index, each in enumerate(messages) if each["role"] == "user"), default=0)
    turn = _TURN.search(_text_of(messages[asked_at]))
    number, said = (int(turn[1]), turn[2]) if turn else (0, "")
    has_result = any(each["role"] == "tool" for each in messages[asked_at:])
    offered = {each["function"]["name"] for each in tools}
    if (record := _RECORD.search(said)) and not has_result:
        return _call("depot_record", {"depot": record[1]}, number)
    if question := _QUESTION.search(said):
        code = find_code(question[1], "\n".join(map(_text_of, messages)))
        if code:
            return {"content": f"It is {code}."}
        search = _search(question[1], offered)
        return _call(*search, number) if search else {"content": "I don't know."}
    return {"content": f"Noted. {work(number, 'model')}"}


def _searched_depot(messages: list[dict[str, Any]]) -> str:
    """Return the depot whose code was searched for with the last call; empty where that was no search."""
    calls = {call["id"]: call["function"] for each in messages for call in each.get("tool_calls") or ()}
    call = calls.get(messages[-1].get("tool_call_id", ""))
    found = None if call is None or call["name"] == "depot_record" else re.search(r"[A-Z]{4,}", call["arguments"])
    return found[0] if found else ""


def _search(depot: str, offered: set[str]) -> tuple[str, dict[str, Any]] | None:
    """Return a search of the conversation's history, by the tool that a framework offers for it."""
    for name in ("search_conversation", "search_conversation_history"):
        if name in offered:
            return name, {"query": f"{depot} access code"}
    if "grep" in offered:
        return "grep", {"pattern": f"depot {depot} is", "path": "/conversation_history", "output_mode": "content"}
    return None


def find_code(depot: str, text: str) -> str:
    """Return a depot's access code as a text has it: the last correction, or else the last that is said."""
    found = re.findall(rf"access code of depot {depot} is (\d{{6}})( from now on)?", text)
    corrected = [code for code, correction in found if correction]
    return (corrected or [code for code, _ in found] or [""])[-1]


def _call(name: str, arguments: dict[str, Any], number: int) -> dict[str, Any]:
    call = {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"content": None, "tool_calls": [call]}


def summarize(messages: list[dict[str, Any]]) -> str:
    """Return the most telling sentences of a request, in their order, within the budget; of equal ones the earlier."""
    text = "\n".join([_text_of(each) for each in messages if each["role"] != "system"])
    sentences = list(dict.fromkeys([each.strip() for each in re.split(r"(?<=[.?!])\s+|\n", text) if each.strip()]))
    chosen, left = set[str](), SUMMARY
    for sentence in sorted(sentences, key=_weight, reverse=True):
        if not _weight(sentence):
            break
        left -= len(sentence) + 1
        if left < 0:
            break
        chosen.add(sentence)
    return "\n".join([sentence for sentence in sentences if sentence in chosen]) or "Nothing of note."


def _weight(sentence: str) -> int:
    """Return how telling a sentence is: by names in capitals, and numbers of at least four digits."""
    if len(sentence) > 200:
        return 0
    return 2 * len(re.findall(r"\b\d{4,}\b", sentence)) + bool(re.search(r"\b[A-Z]{4,}\b", sentence)) + ("from now on" in sentence)


@contextmanager
def serve(model: MockModel) -> Generator[str]:
    """Serve the model on the loopback interface; the base URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            session = self.headers["Authorization"].removeprefix("Bearer ")
            status, answer = model.answer(session, body)
            if status != 200 or not body.get("stream"):
                self._send(status, "application/json", json.dumps(answer if status != 200 else _whole(answer)))
            else:
                self._send(status, "text/event-stream", _streamed(answer))

        def _send(self, status: int, kind: str, text: str) -> None:
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - the name in the base class
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()


def _usage(answer: dict[str, Any]) -> dict[str, int]:
    prompt, completion = answer["prompt_tokens"], answer["completion_tokens"]
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def _whole(answer: dict[str, Any]) -> dict[str, Any]:
    reason = "tool_calls" if "tool_calls" in answer["message"] else "stop"
    choice = {"index": 0, "message": answer["message"], "finish_reason": reason}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "mock"}
    return {**head, "choices": [choice], "usage": _usage(answer)}


def _streamed(answer: dict[str, Any]) -> str:
    message: dict[str, Any] = dict(answer["message"])
    if "tool_calls" in message:
        message["tool_calls"] = [{"index": index, **call} for index, call in enumerate(message["tool_calls"])]
    reason = "tool_calls" if "tool_calls" in message else "stop"
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "mock"}
    chunks: list[dict[str, Any]] = [
        {**head, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        {**head, "choices": [], "usage": _usage(answer)},
    ]
    return "".join([f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]) + "data: [DONE]\n\n"
