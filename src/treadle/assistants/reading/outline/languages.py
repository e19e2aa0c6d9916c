"""The supported languages: a row for each, with its names and how its files are recognised.

Only these rows are loaded here; a language's grammar is loaded by `grammar` when a file needs it.
"""

import re
from pathlib import PurePosixPath

from msgspec import Struct


class SourceLanguage(Struct, frozen=True):
    """One language: its aliases, and its files by extension, whole name, and the interpreter on their first line."""

    name: str
    aliases: tuple[str, ...]
    endings: tuple[str, ...]
    files: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()


_ROWS = (
    SourceLanguage(
        "python",
        ("py", "python3", "pyi", "cpython"),
        ("py", "pyi", "pyw", "pyx", "pxd", "wsgi"),
        ("sconstruct", "sconscript", "wscript", "conanfile", "snakefile"),
        ("python", "pypy", "uv"),
    ),
    SourceLanguage(
        "javascript",
        ("js", "jsx", "mjs", "cjs", "node", "ecmascript", "es6"),
        ("js", "jsx", "mjs", "cjs"),
        ("jakefile",),
        ("node",),
    ),
    SourceLanguage("typescript", ("ts", "mts", "cts"), ("ts", "mts", "cts"), (), ("deno", "bun", "ts-node", "tsx")),
    SourceLanguage("tsx", ("typescriptreact", "typescript-react"), ("tsx",)),
    SourceLanguage("go", ("golang",), ("go",)),
    SourceLanguage("java", ("jav",), ("java",), (), ("java",)),
    SourceLanguage("rust", ("rs",), ("rs",), (), ("rust-script",)),
    SourceLanguage("c", ("ansi c", "c99", "c11", "h"), ("c", "h", "idc"), (), ("tcc",)),
    SourceLanguage(
        "cpp",
        ("c++", "cxx", "cc", "hpp", "cplusplus"),
        ("cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "h++", "ipp", "tpp", "inl", "cu", "ino"),
    ),
    SourceLanguage("csharp", ("c#", "cs", "c-sharp", "c_sharp", "dotnet"), ("cs", "csx"), (), ("dotnet-script",)),
    SourceLanguage(
        "ruby",
        ("rb", "jruby"),
        ("rb", "rake", "gemspec", "ru", "podspec", "jbuilder", "rbw"),
        ("rakefile", "gemfile", "guardfile", "capfile", "vagrantfile", "podfile", "fastfile", "brewfile", "dangerfile", "thorfile"),
        ("ruby", "jruby", "rake"),
    ),
    SourceLanguage("php", ("php8", "hack"), ("php", "phtml", "php5", "php7", "phps", "inc"), (), ("php",)),
    SourceLanguage("kotlin", ("kt", "kts"), ("kt", "kts"), (), ("kotlin", "kscript")),
    SourceLanguage("swift", ("apple swift",), ("swift",), (), ("swift",)),
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
_TYPICAL_LINES = {
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


def language_names() -> list[str]:
    """Return the canonical names of all languages."""
    return [row.name for row in _ROWS]


def canonical_language(name: str) -> str | None:
    """Return the canonical name of a language: `cpp` for `C++`; None if it isn't known."""
    return _BY_NAME.get(name.strip().lower().removeprefix("."))


def detect_language(filename: str, text: str = "") -> str | None:
    """Detect a file's language by its extension, its name, or its first line; None if none of them tells."""
    path = PurePosixPath(filename.replace("\\", "/").lower())
    if path.name in _BY_FILE:
        return _BY_FILE[path.name]
    found = _BY_ENDING.get(path.suffix.removeprefix("."))
    if found == "c" and path.suffix == ".h" and _CPP_ONLY.search(text):
        return "cpp"
    return found or _detect_by_shebang(text) or _detect_by_content(text)


def _detect_by_content(text: str) -> str | None:
    """Return the language with the most typical lines in the text; None if there are fewer than two, or a tie."""
    counts = sorted([(len(pattern.findall(text[:_SAMPLE])), name) for name, pattern in _TYPICAL_LINES.items()], reverse=True)
    (most, name), (second, _) = counts[:2]
    return name if most >= 2 and most > second else None


def _detect_by_shebang(text: str) -> str | None:
    """Return the language of the interpreter in `#!/usr/bin/env -S python3.11 -u`."""
    shebang = _SHEBANG.match(text)
    if shebang is None:
        return "php" if text.startswith("<?php") else None
    words = [shebang[1], *shebang[2].split()]
    if words[0].endswith("/env"):
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word] or words
    return _BY_PROGRAM.get(re.sub(r"[\d.]+$", "", words[0].rpartition("/")[2]))
