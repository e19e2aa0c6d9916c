"""What untrusted records say about things the user named: ids, amounts, dates, and who belongs to them. Pure.

The user named the thing and not the value, so this vouches for less than what they said: an address is accepted only where
they asked for that very field of that very record.
"""

from collections.abc import Iterator
from decimal import Decimal

from treadle.guard.argument_kinds import ArgumentLeaf
from treadle.guard.dates import Day, find_days
from treadle.guard.origins import Origins, UntrustedResult
from treadle.guard.records import ResultRecord, select_named
from treadle.guard.secret_names import split_name
from treadle.guard.text_index import normalize_text, parse_decimal


def is_id_of_named_record(leaf: ArgumentLeaf, origins: Origins) -> bool:
    """Return whether a value is in an id field of a record that the user named: `id`, or one with the argument's name."""
    own = {_to_singular(leaf.name), "id"}
    return any(
        str(value) == str(leaf.value)
        for record in find_named_records(origins)
        for key, values in record.fields.items()
        if _to_singular(key) in own
        for value in values
    )


def is_requested_field(leaf: ArgumentLeaf, origins: Origins) -> bool:
    """Return whether the user asked for a field of a record they named, by its name, and the value is in it."""
    wanted = _to_singular(leaf.name)
    asked = any(words.has_words(word) for words in origins.said for word in (wanted, f"{wanted}s"))
    return asked and any(
        leaf.value in values
        for record in find_named_records(origins)
        for key, values in record.fields.items()
        if _to_singular(key) == wanted
    )


def is_described_item(leaf: ArgumentLeaf, origins: Origins) -> bool:
    """Return whether a value is the one item of a list that starts as the user said it does."""
    value = normalize_text(str(leaf.value))
    return any(
        value.startswith(start) and _is_only_match(value, start, loose) for start in origins.beginnings for loose in origins.loose
    )


def _is_only_match(value: str, start: str, loose: UntrustedResult) -> bool:
    matching = {item for each in loose.items if (item := normalize_text(each)).startswith(start)}
    return matching == {value} and value in map(normalize_text, loose.names)


def find_mentioned_records(loose: UntrustedResult, origins: Origins) -> list[ResultRecord]:
    """Return the records of a result that the user mentioned by a name, even if others share it."""
    return [record for record in loose.records if any(origins.names(value) for _, value in record.names())]


def is_amount_on_record(number: Decimal, name: str, places: set[str], origins: Origins) -> bool:
    """Return whether an amount is at most what is on record with one of these recipients."""
    records = [record for loose in origins.loose for record in loose.records if any(map(record.speaks_of, places))]
    return 0 < number <= max(_find_amounts(records, name), default=Decimal(0))


def is_day_of_named_record(day: Day, origins: Origins) -> bool:
    """Return whether a record that the user named, or asked for, contains this day."""
    asked = [record for loose in origins.loose for record in loose.records if any(map(record.speaks_of, loose.asked))]
    records = [*find_named_records(origins), *asked]
    return any(day in find_days(text) for record in records for text in record.texts())


def find_named_records(origins: Origins) -> Iterator[ResultRecord]:
    """Yield the records that the user named."""
    for loose in origins.loose:
        yield from select_named(loose.records, origins.names, loose.asked)


def _find_amounts(records: list[ResultRecord], name: str) -> set[Decimal]:
    wanted = _to_singular(name)
    values = [value for record in records for key, own in record.fields.items() if _to_singular(key) == wanted for value in own]
    return {number for value in values if (number := parse_decimal(value)) is not None}


def _to_singular(name: str) -> str:
    """Return the last word of a name, in the singular."""
    word = (split_name(name) or (name,))[-1]
    return word.removesuffix("s")
