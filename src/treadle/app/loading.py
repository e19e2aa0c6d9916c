"""Finds the tools that were named: `MODULE`, `MODULE:NAME`, `FILE.py` or `FILE.py:NAME`. Importing them runs their code."""

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from treadle.core.errors import BadTool, SettingsError, TreadleError
from treadle.tools.tool import FunctionTool


def load_tools(specs: Iterable[str], folder: str) -> list[Any]:
    """What an agent can be given as tools, for all that was named. The folder's own modules can be imported."""
    found: list[Any] = []
    for spec in specs:
        _importable(folder)
        found.extend(_named(spec))
    return found


def absolute(spec: str) -> str:
    """The same, whatever folder it is read in."""
    return located(spec, str(Path.cwd()))


def located(spec: str, folder: str) -> str:
    """The same, where files are named from a folder on."""
    place, name = _split(spec)
    if not _is_file(place):
        return spec
    path = str(Path(folder) / Path(place).expanduser())
    return f"{path}:{name}" if name else path


def _split(spec: str) -> tuple[str, str]:
    """Where to look, and what for; without a name, for everything there."""
    place, _, name = spec.rpartition(":")
    return (place, name) if place and all(word.isidentifier() for word in name.split(".")) else (spec, "")


def _is_file(place: str) -> bool:
    return place.endswith(".py") or "/" in place or "\\" in place


def _importable(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _named(spec: str) -> list[Any]:
    place, name = _split(spec)
    module = _module(place)
    if name:
        return [_offered(_found(module, name, spec))]
    tools: list[Any] = [value for value in vars(module).values() if isinstance(value, FunctionTool)]
    if not tools:
        raise BadTool(f"{spec} has no @tool; mark its functions with @tool, or name one: {spec}:FUNCTION.")
    return list({id(tool): tool for tool in tools}.values())


def _found(module: ModuleType, name: str, spec: str) -> Any:
    found: Any = module
    for word in name.split("."):
        if not hasattr(found, word):
            there = ", ".join([each for each, value in vars(module).items() if isinstance(value, FunctionTool)])
            raise BadTool(f"{spec}: there is no {name}.{f' There are: {there}.' if there else ''}")
        found = getattr(found, word)
    return found


def _offered(value: Any) -> Any:
    """An agent is offered as a tool; everything else as it is."""
    return value.as_tool() if hasattr(value, "as_tool") and hasattr(value, "setup") else value


def _module(place: str) -> ModuleType:
    try:
        return _from_file(Path(place)) if _is_file(place) else import_module(place)
    except TreadleError:
        raise
    except ModuleNotFoundError as error:
        if error.name and (place == error.name or place.startswith(f"{error.name}.")):
            raise BadTool(f"There is no module {place} here; a file is named with its ending: {place}.py.") from error
        raise SettingsError(f"{place} can't be imported: {error}") from error
    except (Exception, SystemExit) as error:
        raise SettingsError(f"{place} can't be imported: {type(error).__name__}: {error}") from error


def _from_file(path: Path) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location

    if not path.is_file():
        raise BadTool(f"There is no file {path}.")
    _importable(str(path.parent.absolute()))
    name = f"treadle_tools_{path.stem}"  # of its own, so that a file called json.py replaces nothing
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadTool(f"{path} is no Python file; its name has to end in .py.")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
