"""Annotations made into readers: functions that turn a validated JSON value into the Python value a parameter wants.

What fits as it is has no reader, so most parameters cost nothing. What can't be made after all (an impossible date, a validator
that says no) is a `ToolProblem` that names the field.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, assert_never, cast

from treadle.core.errors import ToolProblem
from treadle.tools.accept import Scope
from treadle.tools.issues import Issue, quoted, word
from treadle.tools.shapes import (
    Alias,
    Either,
    Foreign,
    Many,
    Options,
    Plain,
    Record,
    Row,
    Scalar,
    Table,
    name_of,
    peel,
    shape_of,
)
from treadle.tools.values import freeze, shown
from treadle.tools.written import Writer

Reader = Callable[[Any], Any]


class Misfit(Exception):
    """A value that couldn't be made: what is wrong, and where below the value that was read."""

    def __init__(self, issues: Iterable[Issue]) -> None:
        super().__init__("a value doesn't fit")
        self.issues = tuple(issues)

    def below(self, step: str) -> "Misfit":
        """The same, seen from one level up."""
        return Misfit(Issue(step + issue.path, issue.expected, issue.got) for issue in self.issues)


def reader_of(annotation: Any) -> Reader:
    """What turns a JSON value that fits the schema of a type into a value of it. Raises `ToolProblem` where it can't."""
    reader = Readers().of(annotation)
    if reader is None:
        return lambda value: value

    def read(value: Any) -> Any:
        issues: list[Issue] = []
        found = attempt(reader, value, "", issues)
        if issues:
            raise ToolProblem(word(issues, name_of(annotation)))
        return found

    return read


def attempt(reader: Reader, value: Any, path: str, issues: list[Issue]) -> Any:
    """What a reader makes of the value at a path; where it can't, what is wrong is added to `issues`."""
    try:
        return reader(value)
    except Misfit as misfit:
        issues += [Issue((path + issue.path).removeprefix("."), issue.expected, issue.got) for issue in misfit.issues]
    except RecursionError:
        issues.append(Issue(path, "a value that is nested less deeply", shown(value)))
    return None


class Readers:
    """Makes readers, each type once, so that a type may contain itself."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Reader | None] = {}
        self._open: list[Hashable] = []

    def of(self, annotation: Any) -> Reader | None:
        """The reader of an annotation; None where JSON has the value already."""
        bare, _ = peel(annotation)
        shape = shape_of(bare)
        if not isinstance(shape, Record | Alias):
            return self._reader(shape)
        if bare not in self._made and bare not in self._open:
            self._open.append(bare)
            self._made[bare] = self.of(shape.value) if isinstance(shape, Alias) else self._record(shape)
            self._open.remove(bare)
        return self._made[bare] if bare in self._made else self._later(bare)

    def _later(self, bare: Hashable) -> Reader:
        """The reader of a type that is just being made."""

        def read(value: Any) -> Any:
            reader = self._made[bare]
            return value if reader is None else reader(value)

        return read

    def _reader(self, shape: Plain | Scalar | Options | Either | Many | Row | Table | Foreign) -> Reader | None:
        match shape:
            case Plain():
                return None
            case Scalar(_, build, expected):
                return _scalar(build, expected)
            case Options(pairs):
                return _options(pairs)
            case Either(branches):
                return self._either(branches)
            case Many(item, build):
                return _many(self.of(item), build)
            case Row(items):
                return _row([self.of(item) for item in items])
            case Table(key, value, build):
                return _table(_key(self.of(key), shape_of(peel(key)[0])), self.of(value), build)
            case Foreign():
                return _foreign(shape)
            case _:
                assert_never(shape)

    def _either(self, branches: tuple[Any, ...]) -> Reader | None:
        readers = [self.of(branch) for branch in branches]
        some = [reader for reader in readers if reader is not None]
        if not some:
            return None
        if len(branches) == 2 and type(None) in branches:
            return _or_none(some[0], _words_for_null(branches))
        return _first_that_fits([(_fits(branch), reader) for branch, reader in zip(branches, readers, strict=True)])

    def _record(self, record: Record) -> Reader | None:
        fields = {field.key: (field.name, self.of(field.annotation)) for field in record.fields}
        is_dict = dict in record.type.__mro__
        if is_dict and all(reader is None for _, reader in fields.values()):
            return None
        return _built(record, fields)


def _scalar(build: Reader, expected: str) -> Reader:
    def read(value: Any) -> Any:
        try:
            return build(value)
        except Exception as error:
            raise Misfit([Issue("", expected, f"{shown(value)} ({error})")]) from error

    return read


def _options(pairs: tuple[tuple[Any, Any], ...]) -> Reader | None:
    if all(type(json) is type(value) for json, value in pairs):
        return None
    values = {freeze(json): value for json, value in pairs}
    expected = f"one of {', '.join([quoted(json) for json, _ in pairs])}"

    def read(json: Any) -> Any:
        found = values.get(freeze(json), values)  # itself: no value of its own
        if found is values:
            raise Misfit([Issue("", expected, shown(json))])
        return found

    return read


def _or_none(reader: Reader, nulls: tuple[Any, ...]) -> Reader:
    return lambda value: None if value in nulls else reader(value)


def _words_for_null(branches: tuple[Any, ...]) -> tuple[Any, ...]:
    """What means null where a date or the like may be missing: no date is spelled like that, while a path may be."""
    shapes = [shape_of(peel(branch)[0]) for branch in branches]
    formatted = any(isinstance(shape, Scalar) and "format" in shape.schema for shape in shapes)
    return (None, "null", "None") if formatted else (None,)


def _fits(annotation: Any) -> Callable[[Any], bool]:
    writer = Writer()
    schema = writer.write(annotation)
    return Scope({**schema, "$defs": writer.definitions}).accepts


def _first_that_fits(branches: list[tuple[Callable[[Any], bool], Reader | None]]) -> Reader:
    def read(value: Any) -> Any:
        failures: list[Misfit] = []
        for fits, reader in branches:
            if not fits(value):
                continue
            try:
                return value if reader is None else reader(value)
            except Misfit as misfit:
                failures.append(misfit)
        raise Misfit(issue for misfit in failures for issue in misfit.issues)

    return read


# Containers


def _step(reader: Reader | None, value: Any, step: str) -> Any:
    if reader is None:
        return value
    try:
        return reader(value)
    except Misfit as misfit:
        raise misfit.below(step) from misfit


def _many(reader: Reader | None, build: Reader | None) -> Reader | None:
    if reader is None:
        return build
    make = cast("Reader", build or list)
    return lambda value: make([_step(reader, item, f"[{at}]") for at, item in enumerate(value)])


def _row(readers: list[Reader | None]) -> Reader:
    return lambda value: tuple(
        [_step(reader, item, f"[{at}]") for at, (reader, item) in enumerate(zip(readers, value, strict=True))]
    )


def _key(reader: Reader | None, shape: Any) -> Reader | None:
    return _scalar(int, "a whole number as the key") if shape == Plain("integer") else reader


def _table(key: Reader | None, value: Reader | None, build: Reader | None) -> Reader | None:
    if key is None and value is None:
        return build
    make = cast("Reader", build or dict)

    def read(table: Any) -> Any:
        return make({_step(key, name, f".{name}"): _step(value, inner, f".{name}") for name, inner in table.items()})

    return read


# Classes


def _built(record: Record, fields: dict[str, tuple[str, Reader | None]]) -> Reader:
    def read(value: Any) -> Any:
        given = {fields[key][0]: _step(fields[key][1], inner, f".{key}") for key, inner in value.items()}
        given.pop("", None)  # the tag, which only JSON has
        try:
            return record.build(**given)
        except Exception as error:
            raise Misfit([Issue("", f"what {record.type.__name__} allows ({error})", shown(value))]) from error

    return read


def _foreign(foreign: Foreign) -> Reader:
    def read(value: Any) -> Any:
        try:
            return foreign.build(value)
        except Exception as error:
            raise Misfit(_foreign_issues(foreign.type.__name__, error, value)) from error

    return read


def _foreign_issues(kind: str, error: Exception, value: Any) -> list[Issue]:
    """What a pydantic model has against a value, field by field; for any other failure, its words."""
    listed: Any = getattr(error, "errors", None)
    if not callable(listed):
        return [Issue("", f"what {kind} allows ({error})", shown(value))]
    found = cast("list[dict[str, Any]]", listed())
    return [Issue(_location(each["loc"]), f"what {kind} allows ({each['msg']})", shown(each["input"])) for each in found]


def _location(steps: tuple[str | int, ...]) -> str:
    return "".join([f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps])
