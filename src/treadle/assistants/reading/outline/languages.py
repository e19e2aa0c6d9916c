"""The languages with an outline: a row for each, with how it is called and how its files are told.

Nothing is loaded here but rows; the grammar behind one is loaded by `grammars` when a file needs it.
"""

import re
from pathlib import PurePosixPath

from msgspec import Struct


class Language(Struct, frozen=True):
    """One language: the names people give it, and its files by ending, whole name, and the program on their first line."""

    name: str
    aliases: tuple[str, ...]
    endings: tuple[str, ...]
    files: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()


_ROWS = (
    Language(
        "python",
        ("py", "python3", "pyi", "cpython"),
        ("py", "pyi", "pyw", "pyx", "pxd", "wsgi"),
        ("sconstruct", "sconscript", "wscript", "conanfile", "snakefile"),
        ("python", "pypy", "uv"),
    ),
    Language(
        "javascript",
        ("js", "jsx", "mjs", "cjs", "node", "ecmascript", "es6"),
        ("js", "jsx", "mjs", "cjs"),
        ("jakefile",),
        ("node",),
    ),
    Language("typescript", ("ts", "mts", "cts"), ("ts", "mts", "cts"), (), ("deno", "bun", "ts-node", "tsx")),
    Language("tsx", ("typescriptreact", "typescript-react"), ("tsx",)),
    Language("go", ("golang",), ("go",)),
    Language("java", ("jav",), ("java",), (), ("java",)),
    Language("rust", ("rs",), ("rs",), (), ("rust-script",)),
    Language("c", ("ansi c", "c99", "c11", "h"), ("c", "h", "idc"), (), ("tcc",)),
    Language(
        "cpp",
        ("c++", "cxx", "cc", "hpp", "cplusplus"),
        ("cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "h++", "ipp", "tpp", "inl", "cu", "ino"),
    ),
    Language("csharp", ("c#", "cs", "c-sharp", "c_sharp", "dotnet"), ("cs", "csx"), (), ("dotnet-script",)),
    Language(
        "ruby",
        ("rb", "jruby"),
        ("rb", "rake", "gemspec", "ru", "podspec", "jbuilder", "rbw"),
        ("rakefile", "gemfile", "guardfile", "capfile", "vagrantfile", "podfile", "fastfile", "brewfile", "dangerfile", "thorfile"),
        ("ruby", "jruby", "rake"),
    ),
    Language("php", ("php8", "hack"), ("php", "phtml", "php5", "php7", "phps", "inc"), (), ("php",)),
    Language("kotlin", ("kt", "kts"), ("kt", "kts"), (), ("kotlin", "kscript")),
    Language("swift", ("apple swift",), ("swift",), (), ("swift",)),
)

_BY_NAME = {name: row.name for row in _ROWS for name in (row.name, *row.aliases)}
_BY_ENDING = {ending: row.name for row in _ROWS for ending in row.endings}
_BY_FILE = {file: row.name for row in _ROWS for file in row.files}
_BY_PROGRAM = {program: row.name for row in _ROWS for program in row.programs}

_CPP_ONLY = re.compile(
    r"^\s*(?:class\s+\w[^;]*[{:]\s*$|namespace\b|template\s*<|using\s+\w|public:|private:|protected:|#include\s*<\w+>)",
    re.MULTILINE,
)
_SAMPLE = 50_000  # characters that are looked at to tell a language by its content
_USUAL = {
    name: re.compile(pattern, re.MULTILINE)
    for name, pattern in {
        "python": r"^\s*(?:def \w+\(.*\).*:|class \w+.*:|from [\w.]+ import |import [\w.]+$|@\w+$|if __name__ ==)",
        "javascript": r"^\s*(?:(?:const|let|var) \w+ = |(?:export )?(?:async )?function\b|import .* from |module\.exports)",
        "go": r"^(?:package \w+$|func (?:\(.*?\) )?\w+\(|import \(|type \w+ (?:struct|interface) \{)",
        "rust": r"^\s*(?:(?:pub )?fn \w+|use [\w:]+(?:::|;)|impl\b|(?:pub )?(?:struct|enum|trait) \w+|let mut )",
        "java": r"^\s*(?:package [\w.]+;|import [\w.]+;|public (?:final |abstract )?class \w+|(?:public|private) \S+ \w+\(.*\{)",
        "csharp": r"^\s*(?:using [\w.]+;|namespace [\w.]+|public (?:sealed |static )?(?:class|record) \w+|.*\{ get; )",
        "cpp": r"^\s*(?:#include <\w+>|namespace \w*\s*\{|template\s*<|std::|(?:public|private|protected):)",
        "c": r"^\s*(?:#include [<\"]\w+\.h|typedef struct|(?:static )?(?:int|void|char) \*?\w+\(.*\)\s*\{)",
        "ruby": r"^\s*(?:require ['\"]|def \w+[^:]*$|module [A-Z]\w*$|class [A-Z]\w*(?: < \S+)?$|end$|attr_\w+ )",
        "kotlin": r"^\s*(?:fun \w+|val \w+|data class|override fun|import [\w.]+$)",
        "swift": r"^\s*(?:import (?:Foundation|UIKit|SwiftUI)|func \w+\(|guard let|@State|var \w+: )",
    }.items()
}
_SHEBANG = re.compile(r"#!\s*(\S+)((?:[ \t]+\S+)*)")


def languages() -> list[str]:
    """Every language there is, by the name used everywhere."""
    return [row.name for row in _ROWS]


def canonical(name: str) -> str | None:
    """The name used everywhere for what a person calls a language: `C++` is `cpp`. None where it isn't known."""
    return _BY_NAME.get(name.strip().lower().removeprefix("."))


def language_of(filename: str, text: str = "") -> str | None:
    """What a file is written in, by its ending, its name, or its first line. None where none of them tells."""
    path = PurePosixPath(filename.replace("\\", "/").lower())
    if path.name in _BY_FILE:
        return _BY_FILE[path.name]
    found = _BY_ENDING.get(path.suffix.removeprefix("."))
    if found == "c" and path.suffix == ".h" and _CPP_ONLY.search(text):
        return "cpp"
    return found or _by_first_line(text) or _by_content(text)


def _by_content(text: str) -> str | None:
    """The language whose usual lines the text has most of; None where it has fewer than two, or as many of two languages."""
    counts = sorted([(len(pattern.findall(text[:_SAMPLE])), name) for name, pattern in _USUAL.items()], reverse=True)
    (most, name), (second, _) = counts[:2]
    return name if most >= 2 and most > second else None


def _by_first_line(text: str) -> str | None:
    """What the program in `#!/usr/bin/env -S python3.11 -u` runs."""
    shebang = _SHEBANG.match(text)
    if shebang is None:
        return "php" if text.startswith("<?php") else None
    words = [shebang[1], *shebang[2].split()]
    if words[0].endswith("/env"):
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word] or words
    return _BY_PROGRAM.get(re.sub(r"[\d.]+$", "", words[0].rpartition("/")[2]))
