"""What a person settles for the course assistant: how material is cut and found, and how much of a conversation is remembered.

Under `[assistants.courses]` in `treadle.toml`.
"""

from typing import Annotated

from msgspec import Meta, Struct

from treadle import SettingsError, assistant_settings

Some = Annotated[int, Meta(ge=1, le=50)]


class CoursesSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """What can be settled.

    folders     folders of courses, besides those that were added
    size        characters of a passage, at most
    overlap     characters at most that it repeats of the one before
    embeddings  `auto`, `builtin`, `openai:MODEL` or `none`
    results     passages that a search gives
    floor       the score below which a passage isn't given
    rounds      how often the model may look things up for one question
    exchanges   questions with their answers that are remembered in a conversation
    """

    folders: tuple[str, ...] = ()
    size: Annotated[int, Meta(ge=50, le=8_000)] = 800
    overlap: Annotated[int, Meta(ge=0)] = 100
    embeddings: str = "auto"
    results: Some = 5
    floor: Annotated[float, Meta(ge=0, le=1)] = 0.25
    rounds: Some = 2
    exchanges: Annotated[int, Meta(ge=0, le=50)] = 2


def settled() -> CoursesSettings:
    """What counts."""
    settings = assistant_settings("courses", CoursesSettings)
    if settings.overlap * 2 > settings.size:
        raise SettingsError(
            "`overlap` under [assistants.courses] may be half of `size` at most; make one of them smaller or larger."
        )
    return settings
