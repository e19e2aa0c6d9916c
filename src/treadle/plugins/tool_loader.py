"""Load tools by spec: `MODULE`, `MODULE:NAME`, `FILE.py` or `FILE.py:NAME`. Importing them executes their code."""

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from treadle.core.errors import BadTool, SettingsError, TreadleError
from treadle.tools.tool import FunctionTool


def load_tools(specs: Iterable[str], folder: str) -> list[Any]:
    """Return everything the specs name, as `Agent` takes tools. Modules in the folder can be imported."""
    found: list[Any] = []
    for spec in specs:
        _add_to_path(folder)
        found.extend(_load_spec(spec))
    return found


def load_object(spec: str, folder: str) -> Any:
    """Return what `MODULE:NAME` or `FILE.py:NAME` names: an agent, or a function. Modules in the folder can be imported."""
    place, name = _split_spec(resolve_tool_spec(spec, folder))
    if not name:
        raise SettingsError(f"{spec} names no object; write MODULE:NAME or FILE.py:NAME.")
    _add_to_path(folder)
    return _get_attribute(_import_module(place), name, spec)


def names_object(spec: str) -> bool:
    """Return whether a spec names an object in a module or in a Python file, and not a file of data."""
    place, name = _split_spec(spec)
    return bool(name) and (place.endswith(".py") or all(word.isidentifier() for word in place.split(".")))


def make_spec_absolute(spec: str) -> str:
    """Make a spec independent of the current folder."""
    return resolve_tool_spec(spec, str(Path.cwd()))


def resolve_tool_spec(spec: str, folder: str) -> str:
    """Resolve a spec's file path against a folder."""
    place, name = _split_spec(spec)
    if not _is_file_spec(place):
        return spec
    path = str(Path(folder) / Path(place).expanduser())
    return f"{path}:{name}" if name else path


def check_tool_file(spec: str) -> None:
    """Raise if a spec names a file that isn't there. Nothing is imported."""
    place, _ = _split_spec(spec)
    if _is_file_spec(place):
        _check_file(Path(place).expanduser())


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise BadTool(f"There is no file {path}.")


def _split_spec(spec: str) -> tuple[str, str]:
    """Split a spec into module or file, and name; an empty name means everything in it."""
    place, _, name = spec.rpartition(":")
    return (place, name) if place and all(word.isidentifier() for word in name.split(".")) else (spec, "")


def _is_file_spec(place: str) -> bool:
    return place.endswith(".py") or "/" in place or "\\" in place


def _add_to_path(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _load_spec(spec: str) -> list[Any]:
    place, name = _split_spec(spec)
    module = _import_module(place)
    if name:
        return [_as_tool(_get_attribute(module, name, spec))]
    tools: list[Any] = [value for value in vars(module).values() if isinstance(value, FunctionTool)]
    if not tools:
        raise BadTool(f"{spec} has no @tool; mark its functions with @tool, or name one: {spec}:FUNCTION.")
    return list({id(tool): tool for tool in tools}.values())


def _get_attribute(module: ModuleType, name: str, spec: str) -> Any:
    found: Any = module
    for word in name.split("."):
        if not hasattr(found, word):
            there = ", ".join([each for each, value in vars(module).items() if isinstance(value, FunctionTool)])
            raise BadTool(f"{spec}: there is no {name}.{f' There are: {there}.' if there else ''}")
        found = getattr(found, word)
    return found


def _as_tool(value: Any) -> Any:
    """Return an agent as a tool, and anything else unchanged."""
    return value.as_tool() if hasattr(value, "as_tool") and hasattr(value, "setup") else value


def _import_module(place: str) -> ModuleType:
    try:
        return _import_file(Path(place)) if _is_file_spec(place) else import_module(place)
    except TreadleError:
        raise
    except ModuleNotFoundError as error:
        if error.name and (place == error.name or place.startswith(f"{error.name}.")):
            raise BadTool(f"There is no module {place} here; a file is named with its ending: {place}.py.") from error
        raise SettingsError(f"{place} can't be imported: {error}") from error
    except (Exception, SystemExit) as error:
        raise SettingsError(f"{place} can't be imported: {type(error).__name__}: {error}") from error


def _import_file(path: Path) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location

    _check_file(path)
    _add_to_path(str(path.parent.absolute()))
    name = f"treadle_tools_{path.stem}"  # of its own, so that a file called json.py replaces nothing
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadTool(f"{path} is no Python file; its name has to end in .py.")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
