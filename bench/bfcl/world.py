"""The world of a case with many turns: file systems, accounts and cars that its functions act on. Kept in memory, all of it."""

import json
from copy import deepcopy
from importlib import import_module
from typing import Any

from bench.bfcl.cases import Case

ROUNDS = 8  # replies with calls in one turn, for everybody


class World:
    """The objects of a case as they are at its beginning, and the functions that change them."""

    def __init__(self, case: Case) -> None:
        backend = import_module("bfcl_eval.constants.executable_backend_config")
        self._things: list[Any] = []
        for name in case.entry["involved_classes"]:
            thing = getattr(import_module(backend.CLASS_FILE_PATH_MAPPING[name]), name)()
            if name not in backend.STATELESS_CLASSES:
                thing._load_scenario(deepcopy(case.entry["initial_config"].get(name, {})), long_context=False)
            self._things.append(thing)

    def carry_out(self, name: str, arguments: dict[str, Any]) -> str:
        """What a function gives back, told as the cases' own runner tells it; failures too."""
        try:
            method = next(getattr(thing, name) for thing in reversed(self._things) if hasattr(thing, name))
            value = method(**arguments)
        except Exception as error:  # noqa: BLE001 - whatever a function raises is its answer
            return f"Error during execution: {error}"
        return value if isinstance(value, str) else _told(value)


def _told(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    try:
        return json.dumps(value)
    except TypeError:
        return str(value)
