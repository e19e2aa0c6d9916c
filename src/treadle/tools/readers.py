"""Readers of annotations: functions that convert a validated JSON value to the Python value a parameter expects.

What needs no conversion has no reader, so most parameters cost nothing. What can't be converted after all (an impossible
date, a validator that rejects) is a `BadArguments` that names the field.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, assert_never, cast

from treadle.core.errors import BadArguments
from treadle.tools.compiled_schema import CompiledSchema
from treadle.tools.issues import ArgumentIssue, format_issues, quote_json
from treadle.tools.schema_writer import SchemaWriter
from treadle.tools.shapes import (
    AliasShape,
    DictShape,
    ForeignShape,
    ListShape,
    OptionsShape,
    PlainShape,
    RecordShape,
    ScalarShape,
    TupleShape,
    UnionShape,
    annotation_name,
    parse_annotation,
    pydantic_shape,
    strip_annotation,
)
from treadle.tools.values import format_json_value, freeze

ValueReader = Callable[[Any], Any]


class ConversionError(Exception):
    """A value that couldn't be converted: what is wrong, and where below the value that was read."""

    def __init__(self, issues: Iterable[ArgumentIssue]) -> None:
        super().__init__("a value doesn't fit")
        self.issues = tuple(issues)

    def below(self, step: str) -> "ConversionError":
        """Return the same error, seen from one level up."""
        return ConversionError(ArgumentIssue(step + issue.path, issue.expected, issue.got) for issue in self.issues)


def make_reader(annotation: Any, tool_name: str = "") -> ValueReader:
    """Return a function that converts a valid JSON value to a type. It raises `BadArguments` where it can't.

    `tool_name` is the tool that the value is an argument of, which a model can call again.
    """
    reader = ReaderFactory().of(annotation)
    if reader is None:
        return lambda value: value

    def read(value: Any) -> Any:
        issues: list[ArgumentIssue] = []
        found = read_value_at(reader, value, "", issues)
        if issues:
            raise BadArguments(format_issues(issues, tool_name or annotation_name(annotation)))
        return found

    return read


def read_value_at(reader: ValueReader, value: Any, path: str, issues: list[ArgumentIssue]) -> Any:
    """Read the value at a path; where that fails, add what is wrong to `issues`."""
    try:
        return reader(value)
    except ConversionError as misfit:
        issues += [ArgumentIssue((path + issue.path).removeprefix("."), issue.expected, issue.got) for issue in misfit.issues]
    except RecursionError:
        issues.append(ArgumentIssue(path, "a value that is nested less deeply", format_json_value(value)))
    return None


class ReaderFactory:
    """Makes readers, each type once, so that a type may contain itself."""

    def __init__(self) -> None:
        self._made: dict[Hashable, ValueReader | None] = {}
        self._open: list[Hashable] = []

    def of(self, annotation: Any) -> ValueReader | None:
        """Return the reader of an annotation; None where the JSON value needs no conversion."""
        bare, _ = strip_annotation(annotation)
        shape = pydantic_shape(annotation) or parse_annotation(bare)
        if not isinstance(shape, RecordShape | AliasShape):
            return self._reader(shape)
        if bare not in self._made and bare not in self._open:
            self._open.append(bare)
            self._made[bare] = self.of(shape.value) if isinstance(shape, AliasShape) else self._record_reader(shape)
            self._open.remove(bare)
        return self._made[bare] if bare in self._made else self._deferred_reader(bare)

    def _deferred_reader(self, bare: Hashable) -> ValueReader:
        """Return a reader that resolves a type whose reader is still being made."""

        def read(value: Any) -> Any:
            reader = self._made[bare]
            return value if reader is None else reader(value)

        return read

    def _reader(
        self, shape: PlainShape | ScalarShape | OptionsShape | UnionShape | ListShape | TupleShape | DictShape | ForeignShape
    ) -> ValueReader | None:
        match shape:
            case PlainShape():
                return None
            case ScalarShape(_, build, expected):
                return _scalar_reader(build, expected)
            case OptionsShape(pairs):
                return _options_reader(pairs)
            case UnionShape(branches):
                return self._union_reader(branches)
            case ListShape(item, build):
                return _list_reader(self.of(item), build)
            case TupleShape(items):
                return _tuple_reader([self.of(item) for item in items])
            case DictShape(key, value, build):
                return _dict_reader(_key_reader(self.of(key), parse_annotation(strip_annotation(key)[0])), self.of(value), build)
            case ForeignShape():
                return _foreign_reader(shape)
            case _:
                assert_never(shape)

    def _union_reader(self, branches: tuple[Any, ...]) -> ValueReader | None:
        readers = [self.of(branch) for branch in branches]
        some = [reader for reader in readers if reader is not None]
        if not some:
            return None
        if len(branches) == 2 and type(None) in branches:
            return _nullable_reader(some[0], _null_spellings(branches))
        return _first_fitting_reader([(_make_predicate(branch), reader) for branch, reader in zip(branches, readers, strict=True)])

    def _record_reader(self, record: RecordShape) -> ValueReader | None:
        fields = {field.key: (field.name, self.of(field.annotation)) for field in record.fields}
        is_dict = dict in record.type.__mro__
        if is_dict and all(reader is None for _, reader in fields.values()):
            return None
        return _record_builder(record, fields)


def _scalar_reader(build: ValueReader, expected: str) -> ValueReader:
    def read(value: Any) -> Any:
        try:
            return build(value)
        except Exception as error:
            raise ConversionError([ArgumentIssue("", expected, f"{format_json_value(value)} ({error})")]) from error

    return read


def _options_reader(pairs: tuple[tuple[Any, Any], ...]) -> ValueReader | None:
    if all(type(json) is type(value) for json, value in pairs):
        return None
    values = {freeze(json): value for json, value in pairs}
    expected = f"one of {', '.join([quote_json(json) for json, _ in pairs])}"

    def read(json: Any) -> Any:
        found = values.get(freeze(json), values)  # itself: no value of its own
        if found is values:
            raise ConversionError([ArgumentIssue("", expected, format_json_value(json))])
        return found

    return read


def _nullable_reader(reader: ValueReader, nulls: tuple[Any, ...]) -> ValueReader:
    return lambda value: None if value in nulls else reader(value)


def _null_spellings(branches: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return what means null where a date or the like is optional: no date is spelled like that, while a path may be."""
    shapes = [parse_annotation(strip_annotation(branch)[0]) for branch in branches]
    formatted = any(isinstance(shape, ScalarShape) and "format" in shape.schema for shape in shapes)
    return (None, "null", "None") if formatted else (None,)


def _make_predicate(annotation: Any) -> Callable[[Any], bool]:
    writer = SchemaWriter()
    schema = writer.write(annotation)
    return CompiledSchema({**schema, "$defs": writer.definitions}).accepts


def _first_fitting_reader(branches: list[tuple[Callable[[Any], bool], ValueReader | None]]) -> ValueReader:
    def read(value: Any) -> Any:
        failures: list[ConversionError] = []
        for fits, reader in branches:
            if not fits(value):
                continue
            try:
                return value if reader is None else reader(value)
            except ConversionError as misfit:
                failures.append(misfit)
        raise ConversionError(issue for misfit in failures for issue in misfit.issues)

    return read


# Containers


def _read_nested(reader: ValueReader | None, value: Any, step: str) -> Any:
    if reader is None:
        return value
    try:
        return reader(value)
    except ConversionError as misfit:
        raise misfit.below(step) from misfit


def _list_reader(reader: ValueReader | None, build: ValueReader | None) -> ValueReader | None:
    if reader is None:
        return build
    make = cast("ValueReader", build or list)
    return lambda value: make([_read_nested(reader, item, f"[{at}]") for at, item in enumerate(value)])


def _tuple_reader(readers: list[ValueReader | None]) -> ValueReader:
    return lambda value: tuple(
        [_read_nested(reader, item, f"[{at}]") for at, (reader, item) in enumerate(zip(readers, value, strict=True))]
    )


def _key_reader(reader: ValueReader | None, shape: Any) -> ValueReader | None:
    return _scalar_reader(int, "a whole number as the key") if shape == PlainShape("integer") else reader


def _dict_reader(key: ValueReader | None, value: ValueReader | None, build: ValueReader | None) -> ValueReader | None:
    if key is None and value is None:
        return build
    make = cast("ValueReader", build or dict)

    def read(table: Any) -> Any:
        return make({_read_nested(key, name, f".{name}"): _read_nested(value, inner, f".{name}") for name, inner in table.items()})

    return read


# Classes


def _record_builder(record: RecordShape, fields: dict[str, tuple[str, ValueReader | None]]) -> ValueReader:
    def read(value: Any) -> Any:
        given = {fields[key][0]: _read_nested(fields[key][1], inner, f".{key}") for key, inner in value.items()}
        given.pop("", None)  # the tag, which only JSON has
        try:
            return record.build(**given)
        except Exception as error:
            raise ConversionError(
                [ArgumentIssue("", f"what {record.type.__name__} allows ({error})", format_json_value(value))]
            ) from error

    return read


def _foreign_reader(foreign: ForeignShape) -> ValueReader:
    def read(value: Any) -> Any:
        try:
            return foreign.build(value)
        except Exception as error:
            raise ConversionError(_foreign_issues(foreign.name, error, value)) from error

    return read


def _foreign_issues(kind: str, error: Exception, value: Any) -> list[ArgumentIssue]:
    """Return a pydantic model's errors, field by field; for any other failure, its message."""
    listed: Any = getattr(error, "errors", None)
    if not callable(listed):
        return [ArgumentIssue("", f"what {kind} allows ({error})", format_json_value(value))]
    found = cast("list[dict[str, Any]]", listed())
    return [
        ArgumentIssue(_format_location(each["loc"]), f"what {kind} allows ({each['msg']})", format_json_value(each["input"]))
        for each in found
    ]


def _format_location(steps: tuple[str | int, ...]) -> str:
    return "".join([f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps])
