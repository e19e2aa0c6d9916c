"""Replies and failures of Gemini's generateContent, whole and streamed."""

import base64
import json
from dataclasses import replace
from typing import Any

from providers.script import Ask, Fail, Reply, Say, Think, pieces
from providers.servers.base import Call, Issued, Problem, Session, json_response, page, sse
from providers.servers.http import Request, Response


class GeminiReplies:
    """How a server with one model replies."""

    def __init__(self, model: str) -> None:
        self.model = model

    def issue(self, reply: Reply, session: Session, body: Any) -> Issued:
        """The reply with ids and signatures; a call that wasn't written to its end is left out, as this API never shows one."""
        number = len(session.issued)
        reply = replace(reply, parts=tuple(part for part in reply.parts if not isinstance(part, Ask) or part.value is not None))
        calls = tuple(Call(ask.id or f"call{number}{index}", ask.name, ask.value or {}) for index, ask in enumerate(reply.calls))
        seals = [part.seal for part in reply.parts if isinstance(part, Think)]
        seals.append(base64.b64encode(b"signature of reply %d" % number).decode())  # calls always have one
        return Issued(reply, calls, [seals[0], *[None] * (len(calls) - 1)] if calls else None)

    def render(self, issued: Issued, session: Session, request: Request) -> Response:
        parts = _parts(issued)
        if not streams(request):
            return Response(200, _json(self._chunk(issued.reply, parts, last=True)))
        chunks = [self._chunk(issued.reply, [piece], last=False) for part in parts for piece in _split(part)]
        failure = issued.reply.failure
        end = json.loads(self.fail(failure).body) if failure else self._chunk(issued.reply, [], last=True)
        return sse((_event(chunk) for chunk in [*chunks, end]), issued.reply)

    def _chunk(self, reply: Reply, parts: list[Any], *, last: bool) -> dict[str, Any]:
        head = {"modelVersion": self.model, "responseId": "resp-1", "usageMetadata": _usage(reply)}
        if "blocked" in reply.quirks:
            return {**head, "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
        candidate: dict[str, Any] = {"index": 0}
        if parts or (last and reply.finish not in ("filter", "malformed")):
            candidate["content"] = {"role": "model", **({"parts": parts} if parts else {})}
        if last:
            candidate["finishReason"] = _FINISH.get(reply.finish, "STOP")
        if last and reply.finish == "malformed":
            candidate["finishMessage"] = "Malformed function call: print(default_api.weather(city='Paris'"
        return {"candidates": [candidate], **head}

    def fail(self, fail: Fail) -> Response:
        if fail.kind == "page":
            return page(fail.status or 502)
        code, status, message, details = _FAILURES[fail.kind]
        if fail.retry_after:
            details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{fail.retry_after:g}s"}]
        error = {"code": code, "message": message, "status": status, **({"details": details} if details else {})}
        return json_response(fail.status or code, {"error": error})

    def refuse(self, problem: Problem) -> Response:
        status = "UNAUTHENTICATED" if problem.status == 401 else "INVALID_ARGUMENT"
        return json_response(problem.status, {"error": {"code": problem.status, "message": problem.message, "status": status}})


_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
_FAILURES: dict[str, tuple[int, str, str, list[Any]]] = {
    "rate_limit": (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota. Please retry in 1s.", []),
    "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later.", []),
    "server": (500, "INTERNAL", "An internal error has occurred.", []),
    "auth": (
        400,
        "INVALID_ARGUMENT",
        "API key not valid. Please pass a valid API key.",
        [{"@type": _INFO, "reason": "API_KEY_INVALID"}],
    ),
    "not_found": (404, "NOT_FOUND", "models/gemini-3-pro-preview is not found for API version v1beta.", []),
    "context": (
        400,
        "INVALID_ARGUMENT",
        "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
        [],
    ),
}
_FINISH = {
    "length": "MAX_TOKENS",
    "filter": "SAFETY",
    "refusal": "PROHIBITED_CONTENT",
    "malformed": "MALFORMED_FUNCTION_CALL",
}


def streams(request: Request) -> bool:
    """Whether the request asks for a stream."""
    return request.path.endswith(":streamGenerateContent")


def _event(value: Any) -> bytes:
    return b"data: %b\r\n\r\n" % _json(value)


def _json(value: Any) -> bytes:
    """JSON as this API writes it: line separators are escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\u2028", "\\u2028").encode()


def _usage(reply: Reply) -> dict[str, Any]:
    used = reply.tokens
    cached = {"cachedContentTokenCount": used.cached} if used.cached else {}
    thoughts = {"thoughtsTokenCount": used.reasoning} if used.reasoning else {}
    counts = {"promptTokenCount": used.input, "candidatesTokenCount": used.output - used.reasoning}
    return {**counts, **cached, **thoughts, "totalTokenCount": used.input + used.output}


def _parts(issued: Issued) -> list[dict[str, Any]]:
    """Parts of the content. The signature of a thought stands at the first call, or else at the end of the text."""
    made: list[dict[str, Any]] = []
    calls = iter(issued.calls)
    seal = issued.opaque[0] if issued.opaque else next((part.seal for part in issued.reply.parts if isinstance(part, Think)), "")
    for part in issued.reply.parts:
        match part:
            case Say():
                made.append({"text": part.text})
            case Think() if part.text:
                made.append({"text": part.text, "thought": True})
            case Ask():
                call = next(calls)
                function = {"id": call.id, "name": call.name, "args": call.arguments}
                made.append({"functionCall": function, **({"thoughtSignature": seal} if seal else {})})
                seal = ""
            case _:
                pass
    return [*made, {"text": "", "thoughtSignature": seal}] if seal and not issued.calls else made


def _split(part: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**part, "text": text} for text in pieces(part["text"], 9)] if part.get("text") else [part]
