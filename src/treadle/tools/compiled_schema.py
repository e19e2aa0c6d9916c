"""A JSON schema compiled to a predicate: does a value validate as it is? Nearly every call takes this path.

No coercion and no messages here (see `coercion`); a keyword that is invalid or unknown is ignored.
"""

from collections.abc import Callable
from math import isfinite
from typing import Any

from treadle.tools.patterns import compile_re2
from treadle.tools.schema_rules import Predicate, compile_schema_rules
from treadle.tools.values import as_list, as_object, freeze

Schema = dict[str, Any]

_LEAVES_OPEN = ("additionalProperties", "patternProperties", "allOf", "anyOf", "oneOf", "$ref", "if")
_MOST_FOLLOWED = 50_000  # references in one check: some tenths of a second


class TooManyReferences(RecursionError):
    """A schema's references branch without end."""


class CompiledSchema:
    """One schema with its `$ref` targets, and the predicates compiled for its parts so far."""

    __slots__ = ("_followed", "_tests", "root")

    def __init__(self, root: Schema) -> None:
        self.root = root
        self._followed = 0
        self._tests: dict[int, Predicate] = {}  # by identity: the parts live as long as the root

    @classmethod
    def of_arguments(cls, schema: Any) -> "CompiledSchema":
        """Compile the schema of a tool's arguments: an object, by default without additional properties."""
        keywords = as_object(schema) or {}
        closed = keywords.get("properties") and not any(keyword in keywords for keyword in _LEAVES_OPEN)
        return cls({**keywords, "type": "object"} | ({"additionalProperties": False} if closed else {}))

    def accepts(self, value: Any) -> bool:
        """Return whether a value validates against the whole schema as it is."""
        self.begin()
        try:
            return self.test(self.root)(value)
        except RecursionError:  # in the value, or a schema whose references lead nowhere but round
            return False

    def begin(self) -> None:
        """Start the check of another value, which may follow the full number of references."""
        self._followed = 0

    def follow(self, target: Any, value: Any) -> bool:
        """Return whether a value validates against a `$ref` target. The number is limited: branches could recurse for years."""
        self._followed += 1
        if self._followed > _MOST_FOLLOWED:
            raise TooManyReferences
        return self.test(target)(value)

    def test(self, schema: Any) -> Predicate:
        """Return the predicate of a part of this schema."""
        found = self._tests.get(id(schema))
        if found is None:
            found = self._tests[id(schema)] = _compile(schema, self)
        return found

    def resolve(self, reference: Any) -> Any:
        """Return the target of a `$ref` within this schema; one that can't be found accepts everything."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return True
        found: Any = self.root
        for step in _parse_pointer(reference):
            found = _step_into(found, step)
        return found


def _step_into(value: Any, step: str) -> Any:
    items = as_list(value)
    if items is None:
        return (as_object(value) or {}).get(step, True)
    return items[int(step)] if step.isdecimal() and int(step) < len(items) else True


def _parse_pointer(reference: str) -> list[str]:
    if "%" in reference:
        from urllib.parse import unquote  # rare, and not cheap to load

        reference = unquote(reference)
    return [step.replace("~1", "/").replace("~0", "~") for step in reference.split("/")[1:]]


def _compile(schema: Any, scope: CompiledSchema) -> Predicate:
    keywords = as_object(schema)
    if keywords is None:
        return _reject_all if schema is False else _accept_all
    found = [test for build in _BUILDERS if (test := build(keywords, scope)) is not None]
    test = _all_hold(found)
    return _allow_null(test) if keywords.get("nullable") is True else test


def _accept_all(_: Any) -> bool:
    return True


def _reject_all(_: Any) -> bool:
    return False


def _all_hold(found: list[Predicate]) -> Predicate:
    match found:
        case []:
            return _accept_all
        case [only]:
            return only
        case [first, second]:
            return lambda value: first(value) and second(value)
        case _:
            return lambda value: all(test(value) for test in found)


def _any_holds(found: list[Predicate]) -> Predicate:
    match found:
        case [only]:
            return only
        case [first, second]:
            return lambda value: first(value) or second(value)
        case _:
            return lambda value: any(test(value) for test in found)


def _allow_null(test: Predicate) -> Predicate:
    return lambda value: value is None or test(value)


# Types. Exact ones: what JSON was decoded to has no subclasses, and `true` is no number.


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_integer(value: Any) -> bool:
    return type(value) is int


def _is_number(value: Any) -> bool:
    return type(value) is int or (type(value) is float and isfinite(value))


def _is_boolean(value: Any) -> bool:
    return type(value) is bool


def _is_null(value: Any) -> bool:
    return value is None


def _is_list(value: Any) -> bool:
    return type(value) is list


def _is_object(value: Any) -> bool:
    return type(value) is dict


IS_TYPE: dict[str, Predicate] = {
    "string": _is_text,
    "integer": _is_integer,
    "number": _is_number,
    "boolean": _is_boolean,
    "null": _is_null,
    "array": _is_list,
    "object": _is_object,
}


def types_of(schema: Schema) -> list[str]:
    """Return the types a schema names; none where it names none, or an unknown one."""
    named = schema.get("type")
    names: list[Any] = as_list(named) or [named]
    return names if all(isinstance(name, str) and name in IS_TYPE for name in names) else []


def _types_test(schema: Schema, _: CompiledSchema) -> Predicate | None:
    allowed = [IS_TYPE[name] for name in types_of(schema)]
    return _any_holds(allowed) if allowed else None


# Choices


def options_of(schema: Schema) -> list[Any] | None:
    """Return the values a schema lists, by `enum` or `const`."""
    return [schema["const"]] if "const" in schema else as_list(schema.get("enum"))


def _options_test(schema: Schema, _: CompiledSchema) -> Predicate | None:
    options = options_of(schema)
    if options is None:
        return None
    allowed = frozenset(map(freeze, options))
    return lambda value: freeze(value) in allowed


def _rules_test(schema: Schema, _: CompiledSchema) -> Predicate | None:
    found = [test for test, _ in compile_schema_rules(schema)]
    return _all_hold(found) if found else None


# Lists and objects


class ItemSchemas:
    """The schemas of the items of a list: one schema for each of the first, one for the rest."""

    __slots__ = ("first", "rest")

    def __init__(self, schema: Schema) -> None:
        before_2020 = as_list(schema.get("items"))
        self.first = as_list(schema.get("prefixItems")) or before_2020 or []
        self.rest = schema.get("items" if before_2020 is None else "additionalItems", True)

    def at(self, position: int) -> Any:
        """Return the schema of the item at a position."""
        return self.first[position] if position < len(self.first) else self.rest


def _list_test(schema: Schema, scope: CompiledSchema) -> Predicate | None:
    if "items" not in schema and "prefixItems" not in schema:
        return None
    items = ItemSchemas(schema)
    rest = scope.test(items.rest)
    if not items.first:
        return lambda value: value.__class__ is not list or all(map(rest, value))
    first = [scope.test(item) for item in items.first]
    several = len(first)

    def fits(value: Any) -> bool:
        if value.__class__ is not list:
            return True
        return all(test(item) for test, item in zip(first, value, strict=False)) and all(map(rest, value[several:]))

    return fits


class FieldSchemas:
    """The schemas of the fields of an object."""

    __slots__ = ("others", "patterns", "properties", "required")

    def __init__(self, schema: Schema) -> None:
        self.properties = as_object(schema.get("properties")) or {}
        self.required = [name for name in as_list(schema.get("required")) or [] if isinstance(name, str)]
        self.others = schema.get("additionalProperties", True)
        patterns = (as_object(schema.get("patternProperties")) or {}).items()
        self.patterns = [(compiled, part) for source, part in patterns if (compiled := compile_re2(source)) is not None]

    def schemas(self, name: str) -> list[Any]:
        """Return every schema that a field of this name has to validate against."""
        found = [self.properties[name]] if name in self.properties else []
        found += [schema for pattern, schema in self.patterns if pattern.found_in(name)]
        return found or [self.others]


_ABOUT_FIELDS = ("properties", "required", "additionalProperties", "patternProperties")


def _object_test(schema: Schema, scope: CompiledSchema) -> Predicate | None:
    if not any(keyword in schema for keyword in _ABOUT_FIELDS):
        return None
    fields = FieldSchemas(schema)
    named = {name: scope.test(part) for name, part in fields.properties.items()}
    unnamed = scope.test(fields.others)
    if fields.patterns:
        return _patterns_test(fields, scope)
    required, test_of = fields.required, named.get

    def fits(value: Any) -> bool:
        if value.__class__ is not dict:
            return True
        for name, inner in value.items():
            if not test_of(name, unnamed)(inner):
                return False
        for name in required:  # noqa: SIM110  a generator would cost more than the whole test
            if name not in value:
                return False
        return True

    return fits


def _patterns_test(fields: FieldSchemas, scope: CompiledSchema) -> Predicate:
    def fits(value: Any) -> bool:
        if value.__class__ is not dict:
            return True
        return all(name in value for name in fields.required) and all(
            scope.test(schema)(inner) for name, inner in value.items() for schema in fields.schemas(name)
        )

    return fits


# Combinations


def branches_of(schema: Schema, keyword: str) -> list[Any]:
    """Return the schemas listed under a keyword; none where it isn't a list."""
    return as_list(schema.get(keyword)) or []


def _any_of_test(schema: Schema, scope: CompiledSchema) -> Predicate | None:
    found = [scope.test(branch) for branch in branches_of(schema, "anyOf")]
    return _any_holds(found) if found else None


def _one_of_test(schema: Schema, scope: CompiledSchema) -> Predicate | None:
    found = [scope.test(branch) for branch in branches_of(schema, "oneOf")]
    return (lambda value: sum([test(value) for test in found]) == 1) if found else None


def _all_of_test(schema: Schema, scope: CompiledSchema) -> Predicate | None:
    found = [scope.test(branch) for branch in branches_of(schema, "allOf")]
    return _all_hold(found) if found else None


def _not_test(schema: Schema, scope: CompiledSchema) -> Predicate | None:
    if not isinstance(schema.get("not"), dict | bool):
        return None
    excluded = scope.test(schema["not"])
    return lambda value: not excluded(value)


def _reference_test(schema: Schema, scope: CompiledSchema) -> Predicate | None:
    if "$ref" not in schema:
        return None
    target = scope.resolve(schema["$ref"])
    return lambda value: scope.follow(target, value)  # when asked, not now: it may lead back here


_BUILDERS: tuple[Callable[[Schema, CompiledSchema], Predicate | None], ...] = (
    _types_test,
    _options_test,
    _reference_test,
    _object_test,
    _list_test,
    _rules_test,
    _any_of_test,
    _one_of_test,
    _all_of_test,
    _not_test,
)
