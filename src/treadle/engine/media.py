"""Images, recordings and documents in a run: stored by their hash when they come in, and sent only to models that support them.

Their validation is in `core.media`; their encoding for a server in `models`. Bytes never get into entries or events.
"""

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from treadle.core.calls import Media, Result
from treadle.core.errors import BadMedia, BadPrompt, SettingsError, TreadleError
from treadle.core.media import Attachment, Image, Prompt
from treadle.core.messages import History, Message, Part, Quote, Text
from treadle.core.requests import Traits
from treadle.core.seams import Blobs, Model
from treadle.core.tool import ToolResult
from treadle.tools.text import repair_surrogates, to_data, to_text, try_parse_json

MAX_IN_RESULT = 20  # media of one result that are shown

_EMPTY = "The prompt is empty; say what you want."
_TAKES = "A prompt is text, or a list of texts, Image, Audio and Document"


class ToolContent(Struct, frozen=True):
    """What a tool returned: text with labels for the model, the media that these stand for, and the JSON value for code.

    `structured` says that it returned fields, not a text: what is in one field can't pose as another.
    """

    text: str
    media: tuple[Media, ...] = ()
    structured: bool = False
    data: Any = None
    untrusted: bool = False
    about: str = ""


class PromptParts(Struct, frozen=True):
    """A user's message: the text with labels, and all parts if it is more than text."""

    text: str
    parts: tuple[Text | Quote | Media, ...] = ()


# What a person says


async def read_prompt(prompt: Prompt, model: Model, blobs: Blobs | None) -> PromptParts:
    """Store the media of a prompt. Raises `BadPrompt` or `BadMedia` where this model can't be sent it."""
    if isinstance(prompt, str):
        if not prompt.strip():
            raise BadPrompt(_EMPTY)
        return PromptParts(repair_surrogates(prompt))
    given = _check_prompt(prompt)
    check_supported(model, [part for part in given if not isinstance(part, str | Quote)])
    parts = [Text(part) if isinstance(part, str) else await _store_part(part, blobs) for part in _join_texts(given)]
    words = " ".join([part.text if isinstance(part, Text) else part.label for part in parts])
    if not words.strip():
        raise BadPrompt(_EMPTY)
    return PromptParts(words, tuple(parts) if any(isinstance(part, Media | Quote) for part in parts) else ())


def check_supported(model: Model, media: Sequence[Attachment | Media]) -> None:
    """Raise if a model is known not to support one of these."""
    for each in media:
        if not is_supported(model.traits, each.media_type):
            taken = ", ".join(["text", *sorted(model.traits.modalities or ())])
            raise BadMedia(
                f"{model.name} doesn't take {each.media_type}, only {taken}: leave out {each.label}, or ask another model."
            )


def is_supported(traits: Traits, media_type: str) -> bool:
    """Return whether a model can read media of this type. Text is read by any."""
    return media_type.startswith("text/") or traits.takes(media_type)


def _check_prompt(prompt: object) -> list[str | Quote | Attachment | Media]:
    if not isinstance(prompt, Sequence) or isinstance(prompt, bytes | bytearray | memoryview):
        raise BadPrompt(f"{_TAKES}, not {_describe(cast('object', prompt))}.")
    parts = cast("Sequence[object]", prompt)
    for part in parts:
        if not isinstance(part, str | Quote | Attachment | Media):
            raise BadPrompt(f"{_TAKES}; this one has {_describe(part)}.")
    return list(cast("Sequence[str | Quote | Attachment | Media]", parts))


def _describe(value: object) -> str:
    """Describe an invalid part of a prompt, and what to do about it."""
    match value:
        case Attachment():
            return f"{type(value).__name__} alone: put it into a list"
        case bytes() | bytearray() | memoryview():
            return "bytes: wrap them in Image.from_bytes(…)"
        case _ if hasattr(value, "__fspath__"):
            return "a path: write Image.from_path(…)"
        case dict():
            return "a dict: earlier messages go into `history`"
        case _:
            return type(value).__name__


def _join_texts(given: Sequence[str | Quote | Attachment | Media]) -> list[str | Quote | Attachment | Media]:
    """Return the parts, adjacent texts joined, a line each; blank ones left out."""
    joined: list[str | Quote | Attachment | Media] = []
    for part in given:
        if isinstance(part, Quote):
            joined.append(Quote(repair_surrogates(part.source), repair_surrogates(part.text)))
        elif not isinstance(part, str):
            joined.append(part)
        elif (text := repair_surrogates(part)).strip():
            last = joined[-1] if joined else None
            if isinstance(last, str):
                joined[-1] = f"{last}\n{text}"
            else:
                joined.append(text)
    return joined


# Where the bytes go


def prepare_attachment(given: Attachment) -> tuple[Media, bytes]:
    """Return the metadata of an attachment and its bytes, scaled down if it is a large image. Takes a while."""
    if isinstance(given, Image):
        from treadle.engine.scaling import scale_down  # most runs have no images

        fit: Attachment = scale_down(given)
    else:
        fit = given
    return Media(fit.media_type, sha256(fit.data).hexdigest(), len(fit.data), fit.name), fit.data


async def store_attachment(given: Attachment, blobs: Blobs | None) -> Media:
    """Store the bytes of an attachment. Raises `BadMedia` or `JournalError`."""
    if blobs is None:
        raise SettingsError(
            f"{given.label} can't be kept: these services have no `blobs`. Give them MemoryBlobs(), or FileBlobs(folder)."
        )
    return await asyncio.to_thread(_store, given, blobs)


def _store(given: Attachment, blobs: Blobs) -> Media:
    media, data = prepare_attachment(given)
    blobs.put(data)
    return media


async def _store_part(part: Quote | Attachment | Media, blobs: Blobs | None) -> Quote | Media:
    return part if isinstance(part, Quote | Media) else await store_attachment(part, blobs)


# What a tool returned


async def store_value(value: Any, blobs: Blobs | None) -> ToolContent:
    """Read a tool's return value and store its media. Never fails: what can't be stored is described in the text."""
    if isinstance(value, str):
        return ToolContent(to_text(value))
    if isinstance(value, ToolResult):
        shown = await store_value(value.content, blobs)
        return ToolContent(shown.text, shown.media, data=to_data(value.data), untrusted=value.untrusted, about=value.about)
    found: list[Attachment] = []
    lines = _to_lines(value, found)
    text = to_text(value, found) if lines is None else lines
    structured = lines is None and isinstance(value, dict | list | Struct)
    if not found:
        return ToolContent(text, structured=structured, data=try_parse_json(text) if value is not None else None)
    media, words = await _store_all(found, blobs)
    if text == words.partition("\n")[0]:  # nothing but the label of what the words are about
        return ToolContent(words, media)
    data = try_parse_json(text) if lines is None else None
    return ToolContent(f"{text}\n\n{words}" if words else text, media, structured and not words, data)


def _to_lines(value: Any, found: list[Attachment]) -> str | None:
    """Return a list of texts and media, such as a prompt, as lines of text; None where it is something else."""
    if not isinstance(value, list | tuple):
        return None
    parts = cast("Sequence[Any]", value)
    media = [part for part in parts if isinstance(part, Attachment)]
    if not media or not all(isinstance(part, str | Attachment) for part in parts):
        return None
    found += media
    return "\n".join([repair_surrogates(str(part)) for part in parts])


async def _store_all(found: Sequence[Attachment], blobs: Blobs | None) -> tuple[tuple[Media, ...], str]:
    """Return the stored media of a result, and text for the others: a text as such, and why the rest can't be shown."""
    media: list[Media] = []
    words: list[str] = []
    for each in found[:MAX_IN_RESULT]:
        if each.media_type.startswith("text/"):
            words.append(f"{each.label}\n{each.data.decode(errors='replace')}")
            continue
        try:
            media.append(await store_attachment(each, blobs))
        except TreadleError as error:
            words.append(f"{each.label} isn't shown: {error}")
    if len(found) > MAX_IN_RESULT:
        words.append(f"[… {len(found) - MAX_IN_RESULT} more aren't shown]")
    return tuple(media), "\n\n".join(words)


_MARK = "\0content:"  # before a cached result that isn't text alone


def pack_content(content: ToolContent) -> str:
    """Serialize a result for the cache."""
    if content == ToolContent(content.text) and not content.text.startswith(_MARK):
        return content.text
    return _MARK + msgspec.json.encode(content).decode()


def unpack_content(kept: str) -> ToolContent:
    """Deserialize a result from the cache."""
    return msgspec.json.decode(kept.removeprefix(_MARK), type=ToolContent) if kept.startswith(_MARK) else ToolContent(kept)


# What a model is shown


def adapt_history(history: History, traits: Traits, blobs: Blobs | None) -> History:
    """Return the history as this model can read it: labels for unsupported media, text documents as text."""
    if all(traits.takes(media_type) for media_type in ("image", "audio", "document")):
        return history
    form = f"media {sorted(traits.modalities or ())}"
    return history.convert(form, lambda message: _adapt_message(message, traits, blobs))


def _adapt_message(message: Message, traits: Traits, blobs: Blobs | None) -> Message:
    if message.role == "person":
        return _adapt_person_message(message, traits, blobs)
    if not any(isinstance(part, Result) and part.media for part in message.parts):
        return message
    return Message(message.role, tuple([_adapt_result(part, traits) for part in message.parts]))


def _adapt_person_message(message: Message, traits: Traits, blobs: Blobs | None) -> Message:
    if not any(isinstance(part, Media) and not traits.takes(part.media_type) for part in message.parts):
        return message
    parts: list[Part] = []
    for part in message.parts:
        shown = Text(describe_media(part, blobs)) if isinstance(part, Media) and not traits.takes(part.media_type) else part
        last = parts.pop() if parts else None
        if isinstance(shown, Text) and isinstance(last, Text):
            parts.append(Text(f"{last.text}\n{shown.text}"))
        else:
            parts += [shown] if last is None else [last, shown]
    return Message(message.role, tuple(parts))


def _adapt_result(part: Part, traits: Traits) -> Part:
    if not isinstance(part, Result):
        return part
    return replace(part, media=tuple([media for media in part.media if traits.takes(media.media_type)]))


def describe_media(media: Media, blobs: Blobs | None) -> str:
    """Return the text in place of media that can't be shown: a text document's content, a label for everything else."""
    if not media.is_text or blobs is None:
        return media.label
    return f"{media.label}\n{blobs.get(media.sha256).decode(errors='replace')}"
