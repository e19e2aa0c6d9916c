"""The four kinds of work in one table: what can be typed for each, what is made of it, and what does it."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable

from msgspec import Struct

from treadle import Work
from treadle.assistants.coding import command, work
from treadle.assistants.coding.given import Build, Debug, Given, Review, Triage


class Kind(Struct, frozen=True):
    """One kind of work, and how it is typed."""

    work: Work
    arguments: Callable[[ArgumentParser], None]
    given: Callable[[Namespace], Given]


LEAVING = ("push", "pr")
KINDS = (
    Kind(
        Work("build", "build something, tests included", Build, work.build, leaving=LEAVING),
        command.build_arguments,
        command.build_given,
    ),
    Kind(Work("debug", "find and mend a bug", Debug, work.debug, leaving=LEAVING), command.debug_arguments, command.debug_given),
    Kind(Work("review", "review a change", Review, work.review, reads=True), command.review_arguments, command.review_given),
    Kind(
        Work("triage", "find out why something goes wrong", Triage, work.triage, reads=True),
        command.triage_arguments,
        command.triage_given,
    ),
)
WORK = tuple([each.work for each in KINDS])


def kind(name: str) -> Kind:
    """The one by this name."""
    return next(each for each in KINDS if each.work.name == name)
