"""Patterns of lines that define or import something, per language, as regular expressions for both ripgrep and Python. Pure.

Lines only, no grammar: a definition in a comment is found, one spread over lines may not be.
"""

import re

from msgspec import Struct

NAME = r"[\w$]+[!?=]?"
_C_TYPE = r"^\s*(?:[\w:<>,*&\[\]]+\s+)+[*&]*"


class LanguagePatterns(Struct, frozen=True):
    """The patterns of one language. `{name}` in a definition is the name."""

    files: tuple[str, ...]
    definitions: tuple[str, ...]
    imports: str


LANGUAGES: dict[str, LanguagePatterns] = {
    "python": LanguagePatterns(
        ("*.py", "*.pyi"),
        (r"^\s*(?:async\s+)?def\s+{name}\b", r"^\s*class\s+{name}\b", r"^{name}\s*(?::[^=]+)?=[^=]", r"^type\s+{name}\b"),
        r"^\s*(?:import|from)\s+\S",
    ),
    "javascript": LanguagePatterns(
        ("*.js", "*.jsx", "*.mjs", "*.cjs"),
        (
            r"\bfunction\s*\*?\s*{name}\b",
            r"\bclass\s+{name}\b",
            r"^\s*(?:export\s+)?(?:const|let|var)\s+{name}\b",
            r"^\s*(?:(?:static|async|get|set)\s+|\*)*{name}\s*\([^()]*\)\s*\{{",
        ),
        r"^\s*(?:import\b|export\s.*\bfrom\b)|\brequire\s*\(",
    ),
    "go": LanguagePatterns(
        ("*.go",),
        (
            r"^func\s+(?:\([^)]*\)\s*)?{name}\b",
            r"^\s*type\s+{name}\b",
            r"^\s*(?:var|const)\s+{name}\b",
            r"^\t{name}\s+(?:struct|interface)\b",
        ),
        r'^\s*import\b|^\s+(?:[\w.]+\s+)?"[^"]+"\s*$',
    ),
    "rust": LanguagePatterns(
        ("*.rs",),
        (r"\bfn\s+{name}\b", r"\b(?:struct|enum|trait|union|type|mod|const|static)\s+{name}\b", r"\bmacro_rules!\s+{name}\b"),
        r"^\s*(?:pub\s+)?(?:use|extern\s+crate|mod)\s",
    ),
    "java": LanguagePatterns(
        ("*.java", "*.kt", "*.kts", "*.scala", "*.cs", "*.swift"),
        (
            r"\b(?:class|interface|enum|record|object|struct|protocol|extension|trait|typealias)\s+{name}\b",
            r"\b(?:fun|func|def)\s+(?:<[^>]*>\s*)?(?:[\w.]+\.)?{name}\b",
            r"^\s*(?:(?:public|private|protected|internal|static|final|abstract|override|async)\s+)+[\w<>,.?\[\] ]*\b{name}\s*\(",
        ),
        r"^\s*(?:import|using|package)\s",
    ),
    "c": LanguagePatterns(
        ("*.c", "*.h", "*.cc", "*.cpp", "*.cxx", "*.hpp", "*.hh"),
        (
            r"^\s*#\s*define\s+{name}\b",
            r"\b(?:struct|class|enum|union|namespace)\s+{name}\b[^;]*$",
            rf"{_C_TYPE}(?:\w+::)*{{name}}\s*\([^;]*$",
        ),
        r"^\s*#\s*include\b|^\s*import\s|^\s*using\s",
    ),
    "ruby": LanguagePatterns(
        ("*.rb", "*.rake"),
        (r"^\s*def\s+(?:self\.)?{name}(?:\b|\s|\(|$)", r"^\s*(?:class|module)\s+(?:\w+::)*{name}\b", r"^\s*{name}\s*=[^=]"),
        r"^\s*(?:require|require_relative|load|include|extend)\b",
    ),
    "php": LanguagePatterns(
        ("*.php",),
        (r"\bfunction\s+&?{name}\b", r"\b(?:class|interface|trait|enum)\s+{name}\b", r"\bconst\s+{name}\b"),
        r"^\s*(?:use|require|require_once|include|include_once|namespace)\b",
    ),
    "bash": LanguagePatterns(
        ("*.sh", "*.bash"),
        (r"^\s*function\s+{name}\b", r"^\s*{name}\s*\(\)"),
        r"^\s*(?:source|\.)\s+\S",
    ),
}
_JAVASCRIPT = LANGUAGES["javascript"]
LANGUAGES["typescript"] = LanguagePatterns(
    ("*.ts", "*.tsx", "*.mts", "*.cts"),
    (
        *_JAVASCRIPT.definitions,
        r"\b(?:interface|type|enum|namespace)\s+{name}\b",
        r"^\s*(?:(?:public|private|protected|readonly|static|async|abstract)\s+)+{name}\s*[(<]",
    ),
    _JAVASCRIPT.imports,
)


def find_language_patterns(path: str) -> LanguagePatterns | None:
    """Return the patterns for a file, by its name."""
    ending = "*." + path.rpartition(".")[2].casefold()
    return next((language for language in LANGUAGES.values() if ending in language.files), None)


def definition_pattern(language: LanguagePatterns, name: str) -> str:
    """Return a pattern for a line that defines exactly this name."""
    return "|".join([f"(?:{pattern.format(name=re.escape(name))})" for pattern in language.definitions])


def any_definition_pattern(language: LanguagePatterns) -> str:
    """Return a pattern for a line that defines anything."""
    return "|".join([f"(?:{pattern.format(name=NAME)})" for pattern in language.definitions])
