"""Small packages laid out like real ones, and a runner that executes their tests in this process, without a sandbox."""

import sys
import traceback
from collections.abc import Mapping
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType
from unittest import TestCase

from treadle.assistants.coding.verification import is_test_path
from treadle.workspace import CheckFailure, CheckOutcome

LICENCE = "# SPDX-License-Identifier: MIT\n" + "# Permission is hereby granted, free of charge, to any person.\n" * 20

TOML = {
    "pyproject.toml": '[project]\nname = "minitoml"\n',
    "src/minitoml/__init__.py": LICENCE
    + '''
"""A reader of a small part of TOML."""

__all__ = ("TOMLDecodeError", "loads")

from ._parser import TOMLDecodeError, loads
''',
    "src/minitoml/_re.py": LICENCE
    + '''
from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache

_TIME_RE_STR = r"([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])(?:\\.([0-9]{1,6})[0-9]*)?"

RE_NUMBER = re.compile(r"([+-]?(?:0|[1-9](?:_?[0-9])*))(\\.[0-9]+)?")
RE_LOCALTIME = re.compile(_TIME_RE_STR)
RE_DATETIME = re.compile(
    r"([0-9]{4})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    + r"(?:[Tt ]" + _TIME_RE_STR + r"(?:([Zz])|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))?)?"
)


def match_to_datetime(match):
    """Convert a match of RE_DATETIME to a date or a datetime."""
    (
        year_str,
        month_str,
        day_str,
        hour_str,
        minute_str,
        sec_str,
        micros_str,
        zulu_time,
        offset_sign_str,
        offset_hour_str,
        offset_minute_str,
    ) = match.groups()
    year, month, day = int(year_str), int(month_str), int(day_str)
    if hour_str is None:
        return date(year, month, day)
    hour, minute, sec = int(hour_str), int(minute_str), int(sec_str)
    micros = int(micros_str.ljust(6, "0")) if micros_str else 0
    tz: tzinfo | None
    if offset_sign_str:
        tz = cached_tz(offset_hour_str, offset_minute_str, offset_sign_str)
    elif zulu_time:
        tz = timezone.utc
    else:
        tz = None
    return datetime(year, month, day, hour, minute, sec, micros, tzinfo=tz)


@lru_cache(maxsize=None)
def cached_tz(hour_str, minute_str, sign_str):
    sign = 1 if sign_str == "+" else -1
    return timezone(timedelta(hours=sign * int(hour_str), minutes=sign * int(minute_str)))


def match_to_localtime(match):
    hour_str, minute_str, sec_str, micros_str = match.groups()
    micros = int(micros_str.ljust(6, "0")) if micros_str else 0
    return time(int(hour_str), int(minute_str), int(sec_str), micros)


def match_to_number(match):
    whole, fraction = match.groups()
    return float(whole.replace("_", "") + fraction) if fraction else int(whole.replace("_", ""))
''',
    "src/minitoml/_parser.py": LICENCE
    + '''
from __future__ import annotations

from ._re import RE_DATETIME, RE_LOCALTIME, RE_NUMBER, match_to_datetime, match_to_localtime, match_to_number


class TOMLDecodeError(ValueError):
    """A document that isn't valid."""

    def __init__(self, msg, line):
        self.msg = msg
        self.line = line
        super().__init__(f"{msg} (at line {line})")


class Output:
    """The table that is filled, by dotted keys."""

    def __init__(self):
        self.root = {}
        self.current = self.root

    def open_table(self, key):
        self.current = self.root
        for part in key:
            self.current = self.current.setdefault(part, {})

    def set_value(self, key, value, line):
        table = self.current
        for part in key[:-1]:
            table = table.setdefault(part, {})
        if key[-1] in table:
            raise TOMLDecodeError("Cannot overwrite a value", line)
        table[key[-1]] = value


def loads(text):
    """Parse a document."""
    output = Output()
    for number, raw in enumerate(text.replace("\\r\\n", "\\n").split("\\n"), 1):
        line = strip_comment(raw).strip()
        if not line:
            continue
        if line.startswith("["):
            output.open_table(parse_key(line.strip("[]"), number))
        else:
            key, equals, value = line.partition("=")
            if not equals:
                raise TOMLDecodeError("Expected '=' after a key", number)
            output.set_value(parse_key(key, number), parse_value(value.strip(), number), number)
    return output.root


def strip_comment(line):
    quoted = False
    for index, char in enumerate(line):
        if char == '"':
            quoted = not quoted
        elif char == "#" and not quoted:
            return line[:index]
    return line


def parse_key(text, line):
    parts = [part.strip().strip('"') for part in text.split(".")]
    if not all(parts):
        raise TOMLDecodeError("Invalid key", line)
    return parts


def parse_value(text, line):
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        return text[1:-1]
    if text.startswith("["):
        return parse_array(text, line)
    for pattern, convert in (
        (RE_DATETIME, match_to_datetime),
        (RE_LOCALTIME, match_to_localtime),
        (RE_NUMBER, match_to_number),
    ):
        match = pattern.fullmatch(text)
        if match:
            return convert(match)
    raise TOMLDecodeError("Invalid value", line)


def parse_array(text, line):
    if not text.endswith("]"):
        raise TOMLDecodeError("Unclosed array", line)
    items = [item.strip() for item in text[1:-1].split(",")]
    return [parse_value(item, line) for item in items if item]
''',
    "tests/__init__.py": "",
    "tests/test_datetime.py": """import datetime

import minitoml


def test_offset():
    value = minitoml.loads("d = 1979-05-27T00:32:00-07:30")["d"]
    assert value.utcoffset() == datetime.timedelta(hours=-7, minutes=-30)


def test_date():
    assert minitoml.loads("d = 1979-05-27")["d"] == datetime.date(1979, 5, 27)
""",
    "tests/test_misc.py": """from minitoml import TOMLDecodeError, loads


def raises(text):
    try:
        loads(text)
    except TOMLDecodeError as error:
        return error.line
    return None


def test_values():
    assert loads('a = 1\\nb = "x # y" # z\\nc = [1, 2.5]\\n') == {"a": 1, "b": "x # y", "c": [1, 2.5]}


def test_tables():
    assert loads("[a.b]\\nc = true\\n[d]\\n") == {"a": {"b": {"c": True}}, "d": {}}


def test_overwrite():
    assert raises("a = 1\\na = 2") == 2


def test_invalid():
    assert raises("a = ?") == 1
""",
}

SLUG = {
    "setup.cfg": "[metadata]\nname = minislug\n",
    "minislug/__init__.py": """from minislug.special import *
from minislug.slugify import *
from minislug.__version__ import __version__
""",
    "minislug/__version__.py": '__version__ = "1.0"\n',
    "minislug/special.py": '''"""Replacements of letters."""

__all__ = ["GERMAN", "PRE_TRANSLATIONS"]

GERMAN = [("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss")]

PRE_TRANSLATIONS = [*GERMAN]
''',
    "minislug/slugify.py": LICENCE
    + '''
import re
import unicodedata
from html.entities import name2codepoint

__all__ = ["slugify", "smart_truncate"]

CHAR_ENTITY_PATTERN = re.compile(r"&(%s);" % "|".join(name2codepoint))
DISALLOWED_CHARS_PATTERN = re.compile(r"[^-a-zA-Z0-9]+")
DUPLICATE_DASH_PATTERN = re.compile(r"-{2,}")
NUMBERS_PATTERN = re.compile(r"(?<=\\d),(?=\\d)")
DEFAULT_SEPARATOR = "-"


def smart_truncate(string, max_length=0, word_boundary=False, separator=" ", save_order=False):
    """Truncate a string, at a word's end if wanted."""
    string = string.strip(separator)
    if not max_length:
        return string
    if len(string) <= max_length:
        return string
    if not word_boundary:
        return string[:max_length].strip(separator)
    truncated = ""
    for word in string.split(separator):
        if word:
            next_len = len(truncated) + len(word)
            if next_len + len(separator) <= max_length:
                truncated += f"{word}{separator}"
            elif next_len == max_length:
                truncated += f"{word}"
                break
            elif save_order:
                break
    if not truncated:
        truncated = string[:max_length]
    return truncated.strip(separator)


def slugify(
    text,
    entities=True,
    max_length=0,
    word_boundary=False,
    separator=DEFAULT_SEPARATOR,
    save_order=False,
    stopwords=(),
    lowercase=True,
    replacements=(),
):
    """Make a slug from a text."""
    for old, new in replacements:
        text = text.replace(old, new)
    if entities:
        text = CHAR_ENTITY_PATTERN.sub(lambda match: chr(name2codepoint[match.group(1)]), text)
    text = unicodedata.normalize("NFKD", text)
    text = text.encode("ascii", "ignore").decode()
    if lowercase:
        text = text.lower()
    text = text.replace("'", "")
    text = NUMBERS_PATTERN.sub("", text)
    text = DISALLOWED_CHARS_PATTERN.sub(DEFAULT_SEPARATOR, text)
    text = DUPLICATE_DASH_PATTERN.sub(DEFAULT_SEPARATOR, text).strip(DEFAULT_SEPARATOR)
    if stopwords:
        words = [word for word in text.split(DEFAULT_SEPARATOR) if word not in stopwords]
        text = DEFAULT_SEPARATOR.join(words)
    if max_length > 0:
        text = smart_truncate(text, max_length, word_boundary, DEFAULT_SEPARATOR, save_order)
    if separator != DEFAULT_SEPARATOR:
        text = text.replace(DEFAULT_SEPARATOR, separator)
    return text
''',
    "tests/test_slugify.py": """import unittest

from minislug import GERMAN, slugify
from minislug.slugify import smart_truncate


class TestSlugify(unittest.TestCase):
    def test_dashes(self):
        self.assertEqual(slugify("This -- is a ## test ---"), "this-is-a-test")

    def test_numbers(self):
        self.assertEqual(slugify("1,000 reasons you are #1"), "1000-reasons-you-are-1")

    def test_german(self):
        self.assertEqual(slugify("über", replacements=GERMAN), "ueber")

    def test_separator(self):
        self.assertEqual(slugify("a b c", separator="."), "a.b.c")

    def test_stopwords(self):
        self.assertEqual(slugify("the quick fox", stopwords=("the",)), "quick-fox")

    def test_word_boundary(self):
        self.assertEqual(smart_truncate("jaja lol mememeoo a", 9, word_boundary=True), "jaja lol")
""",
}

LISTS = {
    "minibolts/__init__.py": "",
    "minibolts/listutils.py": LICENCE
    + '''
"""Lists of lists."""

import operator
from bisect import insort

from .mathutils import log_base


class BarrelList(list):
    """A list backed by many smaller ones."""

    _size_factor = 4

    def __init__(self, iterable=None):
        self.lists = [[]]
        if iterable:
            self.extend(iterable)

    @property
    def _cur_size_limit(self):
        return max(self._size_factor, log_base(len(self), 2))

    def _translate_index(self, index):
        if index < 0:
            index += len(self)
        relative, lists = index, self.lists
        for list_index in range(len(lists)):
            length = len(lists[list_index])
            if relative < length:
                break
            relative -= length
        if relative < 0:
            return None, None
        return list_index, relative

    def _balance_list(self, list_index):
        if list_index < 0:
            list_index += len(self.lists)
        current, limit = self.lists[list_index], self._cur_size_limit
        if len(current) > limit:
            half = len(current) // 2
            self.lists[list_index : list_index + 1] = [current[:half], current[half:]]
            return True
        return False

    def insert(self, index, item):
        if len(self.lists) == 1:
            self.lists[0].insert(index, item)
            self._balance_list(0)
            return
        list_index, relative = self._translate_index(index)
        if list_index is None:
            raise IndexError()
        self.lists[list_index].insert(relative, item)
        self._balance_list(list_index)

    def append(self, item):
        self.lists[-1].append(item)
        self._balance_list(len(self.lists) - 1)

    def extend(self, iterable):
        for item in iterable:
            self.append(item)

    def pop(self, *a):
        if not a:
            item = self.lists[-1].pop()
            if len(self.lists) > 1 and not self.lists[-1]:
                self.lists.pop()
            return item
        list_index, relative = self._translate_index(a[0])
        if list_index is None:
            raise IndexError()
        item = self.lists[list_index].pop(relative)
        self._balance_list(list_index)
        return item

    def count(self, item):
        return sum(current.count(item) for current in self.lists)

    def index(self, item):
        length = 0
        for current in self.lists:
            if item in current:
                return length + current.index(item)
            length += len(current)
        raise ValueError(f"{item!r} is not in list")

    def __getitem__(self, index):
        list_index, relative = self._translate_index(index)
        if list_index is None or relative >= len(self.lists[list_index]):
            raise IndexError()
        return self.lists[list_index][relative]

    def __iter__(self):
        for current in self.lists:
            yield from current

    def __len__(self):
        return sum(map(len, self.lists))


def insort_unique(items, item):
    """Insert an item into a sorted list, unless it is there."""
    if item not in items:
        insort(items, item)
    return items


def sorted_by(items, name):
    """Return items sorted by an attribute."""
    return sorted(items, key=operator.attrgetter(name))
''',
    "minibolts/mathutils.py": '''"""Numbers."""


def log_base(value, base):
    """Return how often a value can be divided by a base."""
    count = 0
    while value >= base:
        value //= base
        count += 1
    return count
''',
    "tests/test_listutils.py": """from minibolts.listutils import BarrelList, insort_unique
from minibolts.mathutils import log_base


def test_insert_and_get():
    items = BarrelList(range(20))
    items.insert(7, "x")
    assert list(items)[7] == "x"
    assert items[-1] == 19


def test_index():
    assert BarrelList(range(20)).index(13) == 13


def test_pop():
    items = BarrelList(range(10))
    assert items.pop(3) == 3
    assert items.pop() == 9


def test_insort():
    assert insort_unique([1, 3], 2) == [1, 2, 3]


def test_log():
    assert log_base(8, 2) == 3
""",
}


def plant(files: Mapping[str, str], path: str, right: str, wrong: str) -> dict[str, str]:
    """A package with a bug."""
    assert files[path].count(right) == 1, (path, right)
    return {**files, path: files[path].replace(right, wrong)}


def write_package(folder: Path, files: Mapping[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def run_package_tests(folder: Path, files: Mapping[str, str], only: str = "") -> CheckOutcome:
    """Execute the tests of a package in this process, as pytest would, and say what failed where."""
    write_package(folder, files)
    passed, failures = 0, list[CheckFailure]()
    with _importable(folder):
        for path in sorted(files):
            if is_test_path(path) and path.rpartition("/")[2].startswith("test") and only in ("", path):
                namespace: dict[str, object] = {"__name__": path.rpartition("/")[2][:-3], "__file__": str(folder / path)}
                try:
                    exec(compile(files[path], str(folder / path), "exec"), namespace)
                except Exception as error:  # noqa: BLE001 - whatever a test raises
                    failures.append(_failure(folder, path, error))
                    continue
                for name, function in _tests_in(namespace):
                    try:
                        function()
                        passed += 1
                    except Exception as error:  # noqa: BLE001 - whatever a test raises
                        failures.append(_failure(folder, f"{path}::{name}", error))
    count = len(failures)
    state = "failed" if count else "passed" if passed else "no tests"
    return CheckOutcome("pytest", "pytest", passed, count, 0, 0, tuple(failures), state, "", 0.1)


def _tests_in(namespace: Mapping[str, object]):
    for name, value in namespace.items():
        if isinstance(value, type) and issubclass(value, TestCase) and value is not TestCase:
            for method in sorted(vars(value)):
                if method.startswith("test"):
                    yield f"{name}::{method}", getattr(value(method), method)
        elif name.startswith("test") and callable(value):
            yield name, value


def _failure(folder: Path, name: str, error: Exception) -> CheckFailure:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(str(folder))]
    message = f"assert {error}" if type(error) is AssertionError else f"{type(error).__name__}: {error}"
    if not frames:
        return CheckFailure(name, message)
    return CheckFailure(name, message, str(Path(frames[-1].filename).relative_to(folder)), frames[-1].lineno)


@contextmanager
def _importable(folder: Path):
    roots = [str(folder / "src"), str(folder)]
    before: dict[str, ModuleType] = dict(sys.modules)
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path[:0] = roots
    try:
        with redirect_stdout(StringIO()):
            yield
    finally:
        sys.dont_write_bytecode = written
        sys.path[:] = [path for path in sys.path if path not in roots]
        for name in set(sys.modules) - set(before):
            if name.split(".")[0].startswith("mini"):
                del sys.modules[name]
        sys.path_importer_cache.pop(str(folder), None)
