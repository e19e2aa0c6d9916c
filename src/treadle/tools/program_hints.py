"""What a model can do about the error of its program: names that were meant, and functions that return what it looked for. Pure."""

import re
from collections.abc import Mapping

from treadle.tools.name_matching import hint_for
from treadle.tools.python_signatures import PythonFunction

_UNKNOWN_NAME = re.compile(r"NameError: name '(\w+)' is not defined")
_UNKNOWN_KEY = re.compile(r"KeyError: '?(\w+)'?")
_NO_ATTRIBUTE = re.compile(r"AttributeError: '(\w+)' object has no attribute '(\w+)'")
_NO_MODULE = re.compile(r"(?:ModuleNotFoundError|ImportError): ")
_NOT_AWAITED = re.compile(r"TypeError: .*\bcoroutine\b")


def find_hint(error: str, line: str, functions: Mapping[str, PythonFunction]) -> str:
    """Return a sentence that says what to do about an error in a line; empty where there is nothing to say."""
    if found := _UNKNOWN_NAME.match(error):
        return hint_for(found[1], functions) if re.search(rf"\b{found[1]}\s*\(", line) else ""
    if found := _UNKNOWN_KEY.match(error):
        return _say_where(found[1], functions)
    if found := _NO_ATTRIBUTE.match(error):
        kind, name = found.groups()
        if kind == "dict":
            return f"A dict has keys, which are written as [{name!r}]. {_say_where(name, functions)}".rstrip()
        return _say_where(name, functions)
    if _NO_MODULE.match(error):
        return f"Call the functions by their names, without an import: {', '.join(functions)}."
    return "Write `await` before each call." if _NOT_AWAITED.match(error) else ""


def _say_where(key: str, functions: Mapping[str, PythonFunction]) -> str:
    """Return the sentence that names the functions whose results have this key."""
    having = [name for name, function in functions.items() if key in function.keys]
    return f"{key!r} is in what {' and '.join(having)} return{'' if len(having) > 1 else 's'}." if having else ""
