"""Models on AWS Bedrock, through its Converse API.

Requests are signed with credentials (`aws_auth`), or carry a Bedrock API key. `bedrock_families` lists which fields a family
of models accepts. Signed reasoning is sent back unchanged. The API has no fields for `seed` and `parallel_calls`.
"""

import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, assert_never
from urllib.parse import quote

from msgspec.structs import replace

from treadle.core.calls import Call, Media, Opaque, Result
from treadle.core.errors import MissingKey, SettingsError
from treadle.core.messages import EncodedHistory, History, Message, Part, Quote, Summary, Text, Thinking
from treadle.core.requests import Delta, Options, Request, ToolSpec, Traits
from treadle.models.connections import DEFAULT_TIMEOUTS, Timeouts
from treadle.models.encoding import CachedEncoder, check_extra, encode
from treadle.models.http import ModelEndpoint
from treadle.models.media import MediaLoader, encode_base64, load_media, narrow_modalities
from treadle.models.server_errors import ServerIdentity
from treadle.models.stream_splitters import AwsEventSplitter
from treadle.models.tool_schemas import to_tool_parameters
from treadle.models.wires.aws_auth import AwsCredentials, AwsSigner, HashedBody, load_aws_credentials, load_aws_region
from treadle.models.wires.bedrock_families import BedrockFamily, build_reasoning_fields, find_bedrock_family
from treadle.models.wires.bedrock_reply import WIRE, BedrockReply
from treadle.models.wires.partial_calls import CallIds
from treadle.models.wires.tool_names import (
    ArgumentNames,
    clean_tool_name,
    encode_call_id,
    encode_tool_name,
    find_renamed_arguments,
    rename_properties,
)

_KEYS = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_BEARER = "AWS_BEARER_TOKEN_BEDROCK"
_TRAITS = Traits()
MODALITIES = frozenset(("image", "document"))  # results take no recordings
_CACHE_POINT = b'{"cachePoint":{"type":"default"}}'

# Fields of the request body. Other fields in `Options.extra` are parameters of the model itself.
_OWN_FIELDS = "additionalModelRequestFields"
_BODY_FIELDS = frozenset(
    (
        "additionalModelResponseFieldPaths",
        "guardrailConfig",
        "outputConfig",
        "performanceConfig",
        "promptVariables",
        "requestMetadata",
        "serviceTier",
    )
)


def from_name(name: str, **settings: Any) -> "Bedrock":
    """Return the model behind `bedrock:NAME`; missing settings come from the environment and the shared files of AWS."""
    environment = os.environ
    bearer, credentials = settings.pop("bearer", ""), settings.pop("credentials", None)
    if not bearer and credentials is None:
        bearer = environment.get(_BEARER, "").strip()
        credentials = None if bearer else load_aws_credentials(environment)
    base_url = settings.pop("base_url", "") or environment.get("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "")
    region = settings.pop("region", "") or load_aws_region(environment)
    return Bedrock(name, region=region, credentials=credentials, bearer=bearer, base_url=base_url, **settings)


class Bedrock:
    """A model on Bedrock, by its id, its inference profile or an ARN. A `bearer` key is used instead of credentials."""

    def __init__(
        self,
        name: str,
        *,
        region: str,
        credentials: AwsCredentials | None = None,
        bearer: str = "",
        base_url: str = "",
        stream: bool = True,
        traits: Traits = _TRAITS,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        kind: str = "bedrock",
        max_output: int | None = None,
    ) -> None:
        self.name = f"{kind}:{name}"
        structured = traits.structured_output if find_bedrock_family(name).structured else "no"
        self.traits = replace(
            traits, streams=stream, modalities=narrow_modalities(MODALITIES, traits.modalities), structured_output=structured
        )
        _check_settings(self.name, region, base_url, credentials, bearer)
        self._server = _make_server(self.name, region, base_url, credentials, bearer)
        signer = (
            AwsSigner(credentials, host=self._server.host, region=region, service="bedrock") if credentials and not bearer else None
        )
        self._signs = signer is not None
        fixed = {"authorization": f"Bearer {bearer}"} if bearer else {}
        self._endpoint = ModelEndpoint(self._server, headers={**fixed, **(headers or {})}, timeouts=timeouts, authorize=signer)
        self._stream = stream
        self._whole_path = f"/model/{quote(name, safe='')}/converse"
        self._path = f"{self._whole_path}-stream" if stream else self._whole_path
        self._max_output = max_output
        self._family = family = find_bedrock_family(name)
        self._form = f"{WIRE}{family.json_results:d}{family.result_status:d}{family.returns_reasoning:d}{family.lone_results:d}"
        self._settings = CachedEncoder(self._encode_options)
        self._settings_without_calls = CachedEncoder(partial(self._encode_options, forbid=family.forbids_calls))
        self._tools = CachedEncoder(partial(_encode_tools, family))
        self._instructions = CachedEncoder(partial(_encode_instructions, family))
        self._renamed: tuple[tuple[ToolSpec, ...], ArgumentNames] = ((), {})

    def reply(self, request: Request) -> AsyncIterator[Delta]:
        """Stream the reply."""
        encode_once = partial(encode_bedrock_message, self._family, blobs=request.blobs)
        history = request.history.encode_joined(self._form, encode_once, _join_turns)
        reading = BedrockReply(self._server, CallIds(len(request.history)), self._argument_names(request.tools))
        splitter = AwsEventSplitter() if self._stream else None
        body = self._encode_body(request, history)
        return self._endpoint.reply(
            self._path, body, reading, splitter, request.options.headers, whole_path=self._whole_path, progress=request.progress
        )

    def _argument_names(self, tools: tuple[ToolSpec, ...]) -> ArgumentNames:
        """Return which arguments go by other names here: a run has the very same tools each round."""
        if self._renamed[0] is not tools:
            self._renamed = tools, find_renamed_arguments(tools)
        return self._renamed[1]

    def _encode_body(self, request: Request, history: EncodedHistory) -> bytes:
        options = request.options
        check_extra(options.extra, "messages", "system", "toolConfig")
        instructions = self._instructions(request.instructions) if request.instructions.strip() else b""
        if request.tools and options.tool_choice != "none":
            choice = _encode_choice(self._family, options.tool_choice)
            tools = b',"toolConfig":{"tools":[%b]%b}' % (self._tools(request.tools), choice)
            settings = self._settings(options)
        else:
            tools = self._encode_unused_tools(request)
            settings = (self._settings_without_calls if tools else self._settings)(options)
        shape = _encode_schema(request.shape) if request.shape is not None else b""
        turns = _close_turns(history.buffer, request.note, caches=self._family.caches)
        end = b"%b]%b%b%b%b}" % (turns, instructions, tools, settings, shape)
        return _hash_body(history, end) if self._signs else b"%b%b" % (_begin_body(history.buffer), end)

    def _encode_unused_tools(self, request: Request) -> bytes:
        """Encode `toolConfig` for a request without callable tools: a history with calls is refused without the field."""
        called = _collect_names(request.history)
        if not called:
            return b""
        tools = request.tools or tuple([ToolSpec(name, "", {"type": "object", "properties": {}}) for name in called])
        return b',"toolConfig":{"tools":[%b]}' % self._tools(tools)

    def _encode_options(self, options: Options, *, forbid: bool = False) -> bytes:
        """Encode the fields that come from options, each with the comma before it.

        `forbid` adds the model's own way to forbid calls.
        """
        limit = _smallest_limit(options.max_tokens, self._max_output)
        own = {**build_reasoning_fields(self._family, options, limit), **({"tool_choice": {"type": "none"}} if forbid else {})}
        own |= {name: value for name, value in options.extra.items() if name not in _BODY_FIELDS and name != _OWN_FIELDS}
        own |= options.extra.get(_OWN_FIELDS, {})
        values: dict[str, Any] = {
            "inferenceConfig": _build_inference(self._family, options, limit, own),
            _OWN_FIELDS: own,
            "serviceTier": {"type": options.service_tier} if options.service_tier else None,
            **{name: value for name, value in options.extra.items() if name in _BODY_FIELDS},
        }
        return b"".join([b",%b:%b" % (encode(name), encode(value)) for name, value in values.items() if value])


def _check_settings(model: str, region: str, base_url: str, credentials: AwsCredentials | None, bearer: str) -> None:
    if not region and (credentials is not None or not base_url):
        raise SettingsError(f"{model} needs a region: set AWS_REGION, such as us-east-1.")
    if credentials is None and not bearer and not base_url:
        raise MissingKey(
            f"{model} needs credentials: set {_KEYS}, or {_BEARER}, or AWS_PROFILE to a profile in ~/.aws/credentials. "
            "For a profile that logs in, `aws configure export-credentials --format env` writes the variables."
        )


def _make_server(model: str, region: str, base_url: str, credentials: AwsCredentials | None, bearer: str) -> ServerIdentity:
    secrets = (bearer, *((credentials.secret_access_key, credentials.session_token) if credentials else ()))
    return ServerIdentity(
        model,
        base_url.rstrip("/") or f"https://bedrock-runtime.{region}.amazonaws.com",
        key_variable=_BEARER if bearer else _KEYS,
        remedy="is it running, and is base_url right?" if base_url else "is the network up, and is the region right?",
        absent="Check the model's id, and that it is offered in this region.",
        secrets=tuple([secret for secret in secrets if secret]),
    )


# What is sent: options, instructions and tools


def _smallest_limit(*limits: int | None) -> int | None:
    return min([limit for limit in limits if limit is not None], default=None)


def _build_inference(family: BedrockFamily, options: Options, limit: int | None, own: dict[str, Any]) -> dict[str, Any]:
    """Return `inferenceConfig`, without the settings that the model refuses in general or together with its own fields."""
    samples = family.samples and "thinking" not in own
    if own.get("reasoningConfig", {}).get("maxReasoningEffort") == "high":  # then Nova sets all of them itself
        samples, limit = False, None
    values = {
        "maxTokens": limit,
        "temperature": options.temperature if samples else None,
        "topP": options.top_p if samples else None,
        "stopSequences": [word for word in options.stop if word] or None,
    }
    return {name: value for name, value in values.items() if value is not None}


def _encode_schema(shape: dict[str, Any]) -> bytes:
    """Encode the field that constrains the answer to a schema, with the comma before it. The schema is a string in this API."""
    structure = {"jsonSchema": {"name": "reply", "schema": encode(shape).decode()}}
    return b',"outputConfig":%b' % encode({"textFormat": {"type": "json_schema", "structure": structure}})


def _encode_instructions(family: BedrockFamily, instructions: str) -> bytes:
    return b',"system":[{"text":%b}%b]' % (encode(instructions), b"," + _CACHE_POINT if family.caches else b"")


def _encode_tools(family: BedrockFamily, tools: tuple[ToolSpec, ...]) -> bytes:
    renamed = find_renamed_arguments(tools)
    specs = [b'{"toolSpec":%b}' % encode(_build_spec(tool, renamed.get(tool.name))) for tool in tools]
    return b",".join([*specs, _CACHE_POINT] if family.caches_tools else specs)


def _build_spec(tool: ToolSpec, names: Mapping[str, str] | None) -> dict[str, Any]:
    """Return the specification of a tool. An empty description is refused, so the name replaces it."""
    description = tool.description.strip() or tool.name
    schema = to_tool_parameters(tool.parameters)
    return {
        "name": clean_tool_name(tool.name),
        "description": description,
        "inputSchema": {"json": rename_properties(schema, names) if names else schema},
    }


def _encode_choice(family: BedrockFamily, choice: str | None) -> bytes:
    """Encode `toolChoice`, with the comma before it; empty if the model decides, or its family doesn't accept the field."""
    if choice in (None, "auto") or not family.choices:
        return b""
    if choice != "required" and "tool" in family.choices:
        return b',"toolChoice":{"tool":{"name":%b}}' % encode_tool_name(choice)
    return b',"toolChoice":{"any":{}}'


def _collect_names(history: History) -> list[str]:
    """Return the names of the tools in the history, each once, in order."""
    names = {clean_tool_name(part.name): None for message in history for part in message.parts if isinstance(part, Call | Result)}
    return list(names)


# What is sent: messages
#
# Roles have to alternate in this API, while consecutive messages of a history may have the same role: the results of a round and
# the next message of the person are both the user's. So each message is encoded with a mark of whose it is where it ends, and
# `_join_turns` makes one turn of those that follow each other. Only the last mark remains, in place of the end of its turn: what
# stands before it doesn't change when the conversation goes on, so it is neither walked nor hashed again. The marks are control
# characters, which JSON never contains, so no text can forge a boundary.

_BEGINNING = b'{"messages":['
_USER, _MODEL = b'{"role":"user","content":[', b'{"role":"assistant","content":['
_SAID, _REPLIED = b"\x01", b"\x02"  # the end of a message, the user's or the model's
_RESULTS, _RETURNED = b"\x03", b"\x04"  # the beginning and the end of results, for families that refuse them together with text
_END = b"]}"  # of a turn
_FIRST = _USER + b'{"text":"(The conversation so far.)"}' + _END + b","  # before a history that begins with the model's
_BETWEEN = _MODEL + b'{"text":"OK."}' + _END + b","  # between results and text, for the same families


def encode_bedrock_message(family: BedrockFamily, message: Message, blobs: MediaLoader | None = None) -> bytes:
    """Encode a message, closed by the mark of its role; empty if it has no blocks."""
    encoded = [_encode_part(family, part, blobs) for part in _introduce_documents(message)]
    blocks = encoded[0] if len(encoded) == 1 else b",".join(filter(None, encoded))
    if not blocks:
        return b""
    if message.role == "model":
        return _MODEL + blocks + _REPLIED
    if message.role == "tools" and family.lone_results:
        return _USER + _RESULTS + blocks + _RETURNED
    return _USER + blocks + _SAID


def _introduce_documents(message: Message) -> Sequence[Part]:
    """Return the parts of a message; a document without words is refused, so its label comes before it."""
    documents = [part for part in message.parts if isinstance(part, Media) and part.kind == "document"]
    if not documents or any(isinstance(part, Text) and part.text.strip() for part in message.parts):
        return message.parts
    return Text(documents[0].label), *message.parts


def _join_turns(turns: bytearray, message: bytes) -> None:
    """Append an encoded message to the turns before it, or to the last of them if that is of the same role."""
    opening = _MODEL if message.startswith(_MODEL) else _USER
    blocks = message[len(opening) :]
    mark, is_result = bytes(turns[-1:]), blocks.startswith(_RESULTS)
    if is_result:
        blocks = blocks[1:]
    if not mark:
        turns += opening + blocks
    elif mark == (_REPLIED if opening is _MODEL else _RETURNED if is_result else _SAID) or (is_result and mark == _SAID):
        turns[-1:] = b"," + blocks
    else:
        between = _BETWEEN if mark == _RETURNED and opening is _USER else b""
        turns[-1:] = b"%b,%b%b%b" % (_END, between, opening, blocks)


def _close_turns(turns: bytearray, note: str, *, caches: bool) -> bytes:
    """Return what closes the turns of a request, in place of their last byte: a cache point, and the note after it."""
    mark = bytes(turns[-1:])
    tail = bytearray(b",%b%b" % (_CACHE_POINT, mark) if caches and mark and mark != _REPLIED else mark)
    if note:
        _join_turns(tail, b'%b{"text":%b}%b' % (_USER, encode(f"[{note}]"), _SAID))
    if tail:
        tail[-1:] = _END
    return bytes(tail)


def _begin_body(turns: bytearray) -> bytes:
    """Return the beginning of a body: the turns without their last byte."""
    return b"%b%b%b" % (_BEGINNING, _FIRST if turns.startswith(_MODEL) else b"", turns[:-1])


def _hash_body(history: EncodedHistory, end: bytes) -> HashedBody:
    """Return a body with its hash. What the request before has hashed of the conversation isn't hashed again."""
    beginning = _begin_body(history.buffer)
    hashed, digest = history.digest or (0, sha256())
    digest.update(beginning[hashed:])
    history.digest = len(beginning), digest
    whole = digest.copy()
    whole.update(end)
    return HashedBody(beginning + end, whole.hexdigest())


_FORMATS = {"image/jpeg": "jpeg", "image/png": "png", "image/gif": "gif", "image/webp": "webp", "application/pdf": "pdf"} | {
    "text/plain": "txt",
    "text/markdown": "md",
    "text/html": "html",
    "text/csv": "csv",
}


def _build_media_block(media: Media, blobs: MediaLoader | None) -> dict[str, Any]:
    """Return an image or a document as a content block; formats that this API doesn't have are replaced by their label."""
    form = _FORMATS.get(media.media_type, "txt" if media.is_text else None)
    if blobs is None or form is None:
        return {"text": media.label}
    source = {"bytes": encode_base64(media, load_media(blobs, media))}
    if media.kind == "image":
        return {"image": {"format": form, "source": source}}
    name = " ".join(re.sub(r"[^a-zA-Z0-9\s()\[\]-]", " ", media.name).split()) or "document"
    return {"document": {"format": form, "name": f"{name} {media.sha256[:8]}", "source": source}}  # names have to differ


def _encode_part(family: BedrockFamily, part: Part, blobs: MediaLoader | None) -> bytes:
    match part:
        case Text() | Quote() | Summary():
            return b'{"text":%b}' % encode(part.text) if part.text.strip() else b""  # blank text is refused
        case Thinking():
            return b""  # reasoning that has to be sent back is an opaque part
        case Opaque():
            return part.json.encode() if part.wire == WIRE and family.returns_reasoning else b""
        case Media():
            return encode(_build_media_block(part, blobs))
        case Call():
            named = encode_call_id(part.id), encode_tool_name(part.name), encode(part.arguments)
            return b'{"toolUse":{"toolUseId":%b,"name":%b,"input":%b}}' % named
        case Result():
            return _encode_result(family, part, blobs)
        case _:
            assert_never(part)


def _encode_result(family: BedrockFamily, result: Result, blobs: MediaLoader | None) -> bytes:
    text = result.content if result.content.strip() else "(empty)"
    content: list[dict[str, Any]] = [{"json": {"result": text}}] if family.json_results else [{"text": text}]
    content += [_build_media_block(media, blobs) for media in result.media]
    status = b',"status":"%b"' % (b"error" if result.problem else b"success") if family.result_status else b""
    return b'{"toolResult":{"toolUseId":%b,"content":%b%b}}' % (encode_call_id(result.call_id), encode(content), status)
