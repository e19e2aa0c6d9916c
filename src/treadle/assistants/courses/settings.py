"""Settings of the course assistant: how material is split and searched, and how much of a conversation is remembered.

Under `[assistants.courses]` in `treadle.toml`.
"""

from typing import Annotated

from msgspec import Meta, Struct

Some = Annotated[int, Meta(ge=1, le=50, description="a whole number from 1 to 50")]


class CoursesSettings(Struct, frozen=True):
    """The keys.

    folders     folders of courses, besides those that were added
    size        characters of a passage, at most
    overlap     characters at most that it repeats of the one before
    embeddings  `auto`, `builtin`, `openai:MODEL` or `none`
    results     passages that a search returns
    floor       the score below which a passage isn't returned
    rounds      how often the model may look things up for one question
    exchanges   questions with their answers that are remembered in a conversation
    private_urls  whether a file may be fetched from a private address of this network
    """

    folders: Annotated[tuple[str, ...], Meta(description="a list of folders")] = ()
    size: Annotated[int, Meta(ge=50, le=8_000, description="a whole number from 50 to 8000")] = 800
    overlap: Annotated[int, Meta(ge=0, description="a whole number from 0 up")] = 100
    embeddings: Annotated[str, Meta(description="auto, builtin, openai:MODEL or none")] = "auto"
    results: Some = 5
    floor: Annotated[float, Meta(ge=0, le=1, description="a number from 0 to 1")] = 0.25
    rounds: Annotated[Some, Meta(extra={"project": "lower"})] = 2
    exchanges: Annotated[int, Meta(ge=0, le=50, description="a whole number from 0 to 50")] = 2
    private_urls: Annotated[bool, Meta(description="true or false")] = False

    def __post_init__(self) -> None:
        if self.overlap * 2 > self.size:
            raise ValueError("`overlap` may be half of `size` at most; make one of them smaller or larger")
