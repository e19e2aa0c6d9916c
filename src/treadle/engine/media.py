"""Images, recordings and documents in a run: kept by their hash when they come in, and shown only to models that take them.

What they may be is `core.media`; how a server wants them spelled is `models`. Bytes never get into entries or events.
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
from treadle.core.messages import History, Message, Part, Text
from treadle.core.requests import Traits
from treadle.core.seams import Blobs, Model
from treadle.core.tool import ToolResult
from treadle.engine.scaling import scale_down
from treadle.tools.text import json_of, sound, to_data, to_text

MOST_IN_RESULT = 20  # media of one result that are shown

_EMPTY = "The prompt is empty; say what you want."
_TAKES = "A prompt is text, or a list of texts, Image, Audio and Document"


class Content(Struct, frozen=True):
    """What a tool returned: text with labels for the model, the media that these stand for, and the JSON value for code.

    `structured` says that it returned fields, not a text: what is in one field can't pose as another.
    """

    text: str
    media: tuple[Media, ...] = ()
    structured: bool = False
    data: Any = None


class PromptParts(Struct, frozen=True):
    """What a person says: the words with labels, and all of it where it is more than words."""

    text: str
    parts: tuple[Text | Media, ...] = ()


# What a person says


async def read_prompt(prompt: Prompt, model: Model, blobs: Blobs | None) -> PromptParts:
    """A prompt, its media kept; `BadPrompt` or `BadMedia` where it can't be asked of this model."""
    if isinstance(prompt, str):
        if not prompt.strip():
            raise BadPrompt(_EMPTY)
        return PromptParts(sound(prompt))
    given = _check_prompt(prompt)
    check_taken(model, [part for part in given if not isinstance(part, str)])
    parts = [Text(part) if isinstance(part, str) else await _keep_part(part, blobs) for part in _join_texts(given)]
    words = " ".join([part.text if isinstance(part, Text) else part.label for part in parts])
    if not words.strip():
        raise BadPrompt(_EMPTY)
    return PromptParts(words, tuple(parts) if any(isinstance(part, Media) for part in parts) else ())


def check_taken(model: Model, media: Sequence[Attachment | Media]) -> None:
    """Raise where a model is known not to take one of these."""
    for each in media:
        if not is_taken(model.traits, each.media_type):
            taken = ", ".join(["text", *sorted(model.traits.modalities or ())])
            raise BadMedia(
                f"{model.name} doesn't take {each.media_type}, only {taken}: leave out {each.label}, or ask another model."
            )


def is_taken(traits: Traits, media_type: str) -> bool:
    """Whether a model can read media of this type. Text is read by any."""
    return media_type.startswith("text/") or traits.takes(media_type)


def _check_prompt(prompt: object) -> list[str | Attachment | Media]:
    if not isinstance(prompt, Sequence) or isinstance(prompt, bytes | bytearray | memoryview):
        raise BadPrompt(f"{_TAKES}, not {_describe(cast('object', prompt))}.")
    parts = cast("Sequence[object]", prompt)
    for part in parts:
        if not isinstance(part, str | Attachment | Media):
            raise BadPrompt(f"{_TAKES}; it has {_describe(part)} in it.")
    return list(cast("Sequence[str | Attachment | Media]", parts))


def _describe(value: object) -> str:
    """What was given in place of a part of a prompt, and what to do about it."""
    match value:
        case Attachment():
            return f"{type(value).__name__} alone: put it into a list"
        case bytes() | bytearray() | memoryview():
            return "bytes: wrap them in Image.from_bytes(…)"
        case _ if hasattr(value, "__fspath__"):
            return "a path: write Image.from_path(…)"
        case _:
            return type(value).__name__


def _join_texts(given: Sequence[str | Attachment | Media]) -> list[str | Attachment | Media]:
    """The parts, texts that stand next to each other as one, a line each; blank ones left out."""
    joined: list[str | Attachment | Media] = []
    for part in given:
        if not isinstance(part, str):
            joined.append(part)
        elif (text := sound(part)).strip():
            last = joined[-1] if joined else None
            if isinstance(last, str):
                joined[-1] = f"{last}\n{text}"
            else:
                joined.append(text)
    return joined


# Where the bytes go


def prepare(given: Attachment) -> tuple[Media, bytes]:
    """What is kept of an attachment, and its bytes, scaled down where it is a large image. Takes a while."""
    fit = scale_down(given) if isinstance(given, Image) else given
    return Media(fit.media_type, sha256(fit.data).hexdigest(), len(fit.data), fit.name), fit.data


async def keep(given: Attachment, blobs: Blobs | None) -> Media:
    """Keep the bytes of an attachment; `BadMedia` or `JournalError` where that can't be."""
    if blobs is None:
        raise SettingsError(
            f"{given.label} can't be kept: these services have no `blobs`. Give them MemoryBlobs(), or FileBlobs(folder)."
        )
    return await asyncio.to_thread(_keep, given, blobs)


def _keep(given: Attachment, blobs: Blobs) -> Media:
    media, data = prepare(given)
    blobs.put(data)
    return media


async def _keep_part(part: Attachment | Media, blobs: Blobs | None) -> Media:
    return part if isinstance(part, Media) else await keep(part, blobs)


# What a tool returned


async def read_value(value: Any, blobs: Blobs | None) -> Content:
    """A value that a tool returned, its media kept. Never fails: what can't be kept is said in words."""
    if isinstance(value, str):
        return Content(to_text(value))
    if isinstance(value, ToolResult):
        shown = await read_value(value.content, blobs)
        return Content(shown.text, shown.media, data=to_data(value.data))
    found: list[Attachment] = []
    lines = _as_lines(value, found)
    text = to_text(value, found) if lines is None else lines
    structured = lines is None and isinstance(value, dict | list | Struct)
    if not found:
        return Content(text, structured=structured, data=json_of(text) if value is not None else None)
    media, words = await _keep_all(found, blobs)
    if text == words.partition("\n")[0]:  # nothing but the label of what the words are about
        return Content(words, media)
    data = json_of(text) if lines is None else None
    return Content(f"{text}\n\n{words}" if words else text, media, structured and not words, data)


def _as_lines(value: Any, found: list[Attachment]) -> str | None:
    """A list of texts and media, such as a prompt is, as lines of text; None where it is something else."""
    if not isinstance(value, list | tuple):
        return None
    parts = cast("Sequence[Any]", value)
    media = [part for part in parts if isinstance(part, Attachment)]
    if not media or not all(isinstance(part, str | Attachment) for part in parts):
        return None
    found += media
    return "\n".join([sound(str(part)) for part in parts])


async def _keep_all(found: Sequence[Attachment], blobs: Blobs | None) -> tuple[tuple[Media, ...], str]:
    """The media of a result, kept, and words in place of those that aren't: a text as such, and why others can't be shown."""
    media: list[Media] = []
    words: list[str] = []
    for each in found[:MOST_IN_RESULT]:
        if each.media_type.startswith("text/"):
            words.append(f"{each.label}\n{each.data.decode(errors='replace')}")
            continue
        try:
            media.append(await keep(each, blobs))
        except TreadleError as error:
            words.append(f"{each.label} isn't shown: {error}")
    if len(found) > MOST_IN_RESULT:
        words.append(f"[… {len(found) - MOST_IN_RESULT} more aren't shown]")
    return tuple(media), "\n\n".join(words)


_MARK = "\0content:"  # before a cached result that isn't text alone


def pack(content: Content) -> str:
    """A result as a cache keeps it."""
    if content == Content(content.text) and not content.text.startswith(_MARK):
        return content.text
    return _MARK + msgspec.json.encode(content).decode()


def unpack(kept: str) -> Content:
    """A result that a cache has kept."""
    return msgspec.json.decode(kept.removeprefix(_MARK), type=Content) if kept.startswith(_MARK) else Content(kept)


# What a model is shown


def make_readable(history: History, traits: Traits, blobs: Blobs | None) -> History:
    """The history as this model can read it: labels in place of what it doesn't take, documents of text as text."""
    if all(traits.takes(media_type) for media_type in ("image", "audio", "document")):
        return history
    form = f"media {sorted(traits.modalities or ())}"
    return history.retold(form, lambda message: _retell(message, traits, blobs))


def _retell(message: Message, traits: Traits, blobs: Blobs | None) -> Message:
    if message.role == "person":
        return _retell_person(message, traits, blobs)
    if not any(isinstance(part, Result) and part.media for part in message.parts):
        return message
    return Message(message.role, tuple([_retell_result(part, traits) for part in message.parts]))


def _retell_person(message: Message, traits: Traits, blobs: Blobs | None) -> Message:
    if not any(isinstance(part, Media) and not traits.takes(part.media_type) for part in message.parts):
        return message
    parts: list[Part] = []
    for part in message.parts:
        shown = Text(words_of(part, blobs)) if isinstance(part, Media) and not traits.takes(part.media_type) else part
        last = parts.pop() if parts else None
        if isinstance(shown, Text) and isinstance(last, Text):
            parts.append(Text(f"{last.text}\n{shown.text}"))
        else:
            parts += [shown] if last is None else [last, shown]
    return Message(message.role, tuple(parts))


def _retell_result(part: Part, traits: Traits) -> Part:
    if not isinstance(part, Result):
        return part
    return replace(part, media=tuple([media for media in part.media if traits.takes(media.media_type)]))


def words_of(media: Media, blobs: Blobs | None) -> str:
    """What is said in place of media that can't be shown: a text itself, a label for everything else."""
    if not media.is_text or blobs is None:
        return media.label
    return f"{media.label}\n{blobs.get(media.sha256).decode(errors='replace')}"
