"""Values that the user left to be selected from what tools returned: "find a channel", "each user". Pure.

An attacker may be among what is selected from, and a hijacked model selects whom it likes. So a recipient that is selected gets
nothing but the user's own words, and all of the call is in the one message that leaves the selection open.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from treadle.core.tool import Tool
from treadle.guard.argument_kinds import ArgumentLeaf, find_addresses, find_codes, looks_like_address
from treadle.guard.dates import strip_days
from treadle.guard.intent import Clause, Leaves, find_nouns, is_mentioned
from treadle.guard.origins import Origins
from treadle.guard.secret_names import split_name
from treadle.guard.text_index import TextIndex, split_tokens, stem_tokens

_OPEN = (
    r"\b(?:find|get|pick|choose|select)\s+(?:me\s+)?(?:a|an|the|one|any)\s+(?:[\w-]+\s+){{0,3}}?(?:{nouns})s?\b"
    r"|\b(?:all|each|every)\s+(?:{nouns})s?\b"
)
_LONGEST_NAME = 40
_SENDING = stem_tokens("send post reply write message direct chat comment")
_PEOPLE = ("user", "person", "member", "colleague", "teammate", "participant")
_PERSON_FIELDS = frozenset(("sender", "author", "user", "username", "member", "participant"))
_WORDS_ONLY = frozenset(("text", "title", "day", "plain", "place"))

_PLAIN = re.compile(r"[\w\s'\u2019\".,;:!?()-]+")
_AS_SPEAKER = ({"you": "i", "your": "my", "yours": "mine"}, {"you": "we", "your": "our", "yours": "ours"})
_IS_AFTER = {"i": {"re": "m", "are": "am"}}
_DECLARED = re.compile(r"\bwhere ([^\W\d_]{1,12}) is (?:replaced|substituted|filled in) (?:with|by)\b", re.IGNORECASE)
_MARKED = re.compile(r"\{\w+\}|<\w+>|\[\w+\]")
_NUMBER = re.compile(r"(?<![\w.,])\d{1,2}(?![\d.,]*\d)(?!\w)")


def is_choice_left_open(leaf: ArgumentLeaf, leaves: Leaves, tool: Tool, origins: Origins, clauses: frozenset[Clause]) -> bool:
    """Return whether a message of the user leaves a value to be chosen ("find a channel", "all users"), and gives all others."""
    return any(_leaves_open(wish, leaf, leaves, tool, origins, clauses) for wish in origins.wishes)


def _leaves_open(
    wish: TextIndex, leaf: ArgumentLeaf, leaves: Leaves, tool: Tool, origins: Origins, clauses: frozenset[Clause]
) -> bool:
    listed = _find_listed(wish, origins) if "choice" in clauses else frozenset[str]()
    people = _find_people(wish, origins) if "person" in clauses else frozenset[str]()
    chosen = [each for each in leaves if each.value in listed and each.kind in ("place", "thing")]
    chosen += [each for each in leaves if each.value in people and each.kind == "place" and each not in chosen]
    others = [each for each in leaves if each not in chosen]
    most = len({*listed, *people}) if "wording" in clauses else 0
    if leaf not in chosen or not all(is_mentioned(each, wish) or _is_worded(each, wish, most) for each in others):
        return False
    if any(each.kind == "place" for each in chosen) and not all(map(_is_only_words, others)):
        return False
    is_listed = all(each.value in listed for each in chosen)
    return _is_named(tool, leaves, wish, is_message=any(each.kind == "text" for each in others), is_listed=is_listed)


def _is_named(tool: Tool, leaves: Leaves, wish: TextIndex, *, is_message: bool, is_listed: bool) -> bool:
    """Return whether the user said what a tool does, as far as its name isn't that of its parameters. People only get messages."""
    deed = stem_tokens(tool.name) - stem_tokens(" ".join(" ".join(split_name(leaf.name)) for leaf in leaves))
    sending = deed & _SENDING if is_message else frozenset[str]()
    return bool(sending or (deed and is_listed)) and deed - sending <= wish.roots


def _is_worded(leaf: ArgumentLeaf, wish: TextIndex, most: int) -> bool:
    text = str(leaf.value)
    return leaf.kind == "text" and most > 0 and (is_reported(text, wish) or is_filled_in(text, wish, most))


def _is_only_words(leaf: ArgumentLeaf) -> bool:
    """Return whether a value may go to a recipient that was chosen: no right, no amount, no thing, and no code in a text."""
    return leaf.kind in _WORDS_ONLY and not (leaf.kind in ("text", "title") and find_codes(strip_days(str(leaf.value))))


def _find_listed(wish: TextIndex, origins: Origins) -> frozenset[str]:
    """Return the names in results of tools for what the user left open: what `get_channels` returned for "a channel"."""
    results = [loose for loose in origins.loose if _says_open(wish, find_nouns(loose))]
    return frozenset([name for loose in results for name in loose.names if _is_name(name)])


def _find_people(wish: TextIndex, origins: Origins) -> frozenset[str]:
    """Return the names in fields for a person, such as who sent a message, where the user left open whom."""
    if not _says_open(wish, _PEOPLE):
        return frozenset()
    fields = [field for loose in origins.loose for field in loose.fields]
    return frozenset([text for name, text in fields if _PERSON_FIELDS.intersection(split_name(name)[-1:]) and _is_name(text)])


def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST_NAME and "@" not in text and not looks_like_address(text) and not find_codes(text)


def _says_open(wish: TextIndex, nouns: Iterable[str]) -> bool:
    own = tuple(sorted({noun.removesuffix("s") for noun in nouns}))
    return bool(own) and wish.matches(_compile_open(own))


@lru_cache(256)
def _compile_open(nouns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(_OPEN.format(nouns="|".join(map(re.escape, nouns))), re.IGNORECASE)


# texts that are the user's to the last word, but for the point of view or one small number


def is_reported(text: str, said: TextIndex) -> bool:
    """Return whether a text is what the user wanted to be told, from "that" to the end of a sentence, said by the speaker."""
    wanted = split_tokens(text)
    if not wanted or not _PLAIN.fullmatch(text) or find_addresses(text):
        return False
    clauses = [clause for sentence in said.sentences for clause in _iter_reported(split_tokens(sentence.text))]
    return any(wanted == spoken for clause in clauses for spoken in (clause, *_iter_spoken(clause)))


def is_filled_in(text: str, said: TextIndex, most: int) -> bool:
    """Return whether a text is a template of the user's with one number from 1 to `most` in the place of the placeholder."""
    gaps = {*_MARKED.findall(said.text), *_DECLARED.findall(said.text)}
    return any(
        1 <= int(number[0]) <= most and said.has(f"{text[: number.start()]}{gap}{text[number.end() :]}")
        for number in _NUMBER.finditer(text)
        for gap in gaps
    )


def _iter_reported(tokens: list[str]) -> Iterator[list[str]]:
    return (tokens[at:] for at, before in enumerate(tokens, 1) if before == "that")


def _iter_spoken(clause: list[str]) -> Iterator[list[str]]:
    """Yield a clause as its speaker says it: `you've seen` is `I've seen` or `we've seen`."""
    for words in _AS_SPEAKER:
        spoken = [words.get(token, token) for token in clause]
        yield [_IS_AFTER.get(before, {}).get(token, token) for before, token in zip(["", *spoken], spoken, strict=False)]
