"""What untrusted records say about the things a person named: which id a thing has, how much, when, and who belongs to it. Pure.

The person named the thing and not the value, so this holds for less than what they said: an address is taken only where they asked
for that very field of that very record.
"""

from collections.abc import Iterator
from decimal import Decimal

from treadle.guard.days import Day, days_in
from treadle.guard.kinds import Leaf
from treadle.guard.names import words_of
from treadle.guard.origins import Loose, Origins
from treadle.guard.records import Record, named_in
from treadle.guard.words import flat, number_of


def id_of_named(leaf: Leaf, origins: Origins) -> bool:
    """Whether a value is in a field for ids of a record that the person named: `id`, or one that is called as the argument is."""
    own = {_singular(leaf.name), "id"}
    return any(
        str(value) == str(leaf.value)
        for record in named_records(origins)
        for key, values in record.fields.items()
        if _singular(key) in own
        for value in values
    )


def field_asked_for(leaf: Leaf, origins: Origins) -> bool:
    """Whether the person asked for a field of a record they named, by its name, and the value is in it."""
    wanted = _singular(leaf.name)
    asked = any(words.has_words(word) for words in origins.said for word in (wanted, f"{wanted}s"))
    return asked and any(
        leaf.value in values
        for record in named_records(origins)
        for key, values in record.fields.items()
        if _singular(key) == wanted
    )


def described(leaf: Leaf, origins: Origins) -> bool:
    """Whether a value is the one item of a list that starts as the person said it does."""
    value = flat(str(leaf.value))
    return any(value.startswith(start) and _only(value, start, loose) for start in origins.beginnings for loose in origins.loose)


def _only(value: str, start: str, loose: Loose) -> bool:
    return {item for each in loose.items if (item := flat(each)).startswith(start)} == {value}


def mentioned(loose: Loose, origins: Origins) -> list[Record]:
    """The records of a result of which the person said a name, whichever others have it too."""
    return [record for record in loose.records if any(origins.names(value) for _, value in record.names())]


def amount_on_record(number: Decimal, name: str, places: set[str], origins: Origins) -> bool:
    """Whether an amount is at most what is on record with one of these places."""
    records = [record for loose in origins.loose for record in loose.records if any(map(record.speaks_of, places))]
    return 0 < number <= max(_amounts(records, name), default=Decimal(0))


def day_of_named(day: Day, origins: Origins) -> bool:
    """Whether a record that the person named, or asked for, speaks of this day."""
    asked = [record for loose in origins.loose for record in loose.records if any(map(record.speaks_of, loose.asked))]
    records = [*named_records(origins), *asked]
    return any(day in days_in(text) for record in records for text in record.texts())


def named_records(origins: Origins) -> Iterator[Record]:
    """The records that the person named."""
    for loose in origins.loose:
        yield from named_in(loose.records, origins.names, loose.asked)


def _amounts(records: list[Record], name: str) -> set[Decimal]:
    wanted = _singular(name)
    values = [value for record in records for key, own in record.fields.items() if _singular(key) == wanted for value in own]
    return {number for value in values if (number := number_of(value)) is not None}


def _singular(name: str) -> str:
    """The last word of a name, for one of what it stands for."""
    word = (words_of(name) or (name,))[-1]
    return word.removesuffix("s")
