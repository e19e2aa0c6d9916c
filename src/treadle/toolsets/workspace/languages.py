"""Lines that define or import something, per language, as regular expressions that ripgrep and Python both read. Pure.

Lines only, no grammar: a definition in a comment is found, one spread over lines may not be.
"""

import re

from msgspec import Struct

NAME = r"[\w$]+[!?=]?"
_C_TYPE = r"^\s*(?:[\w:<>,*&\[\]]+\s+)+[*&]*"


class Language(Struct, frozen=True):
    """How one language says things. `{name}` in a definition is the name."""

    files: tuple[str, ...]
    definitions: tuple[str, ...]
    imports: str


LANGUAGES: dict[str, Language] = {
    "python": Language(
        ("*.py", "*.pyi"),
        (r"^\s*(?:async\s+)?def\s+{name}\b", r"^\s*class\s+{name}\b", r"^{name}\s*(?::[^=]+)?=[^=]", r"^type\s+{name}\b"),
        r"^\s*(?:import|from)\s+\S",
    ),
    "javascript": Language(
        ("*.js", "*.jsx", "*.mjs", "*.cjs"),
        (
            r"\bfunction\s*\*?\s*{name}\b",
            r"\bclass\s+{name}\b",
            r"^\s*(?:export\s+)?(?:const|let|var)\s+{name}\b",
            r"^\s*(?:(?:static|async|get|set)\s+|\*)*{name}\s*\([^()]*\)\s*\{{",
        ),
        r"^\s*(?:import\b|export\s.*\bfrom\b)|\brequire\s*\(",
    ),
    "go": Language(
        ("*.go",),
        (
            r"^func\s+(?:\([^)]*\)\s*)?{name}\b",
            r"^\s*type\s+{name}\b",
            r"^\s*(?:var|const)\s+{name}\b",
            r"^\t{name}\s+(?:struct|interface)\b",
        ),
        r'^\s*import\b|^\s+(?:[\w.]+\s+)?"[^"]+"\s*$',
    ),
    "rust": Language(
        ("*.rs",),
        (r"\bfn\s+{name}\b", r"\b(?:struct|enum|trait|union|type|mod|const|static)\s+{name}\b", r"\bmacro_rules!\s+{name}\b"),
        r"^\s*(?:pub\s+)?(?:use|extern\s+crate|mod)\s",
    ),
    "java": Language(
        ("*.java", "*.kt", "*.kts", "*.scala", "*.cs", "*.swift"),
        (
            r"\b(?:class|interface|enum|record|object|struct|protocol|extension|trait|typealias)\s+{name}\b",
            r"\b(?:fun|func|def)\s+(?:<[^>]*>\s*)?(?:[\w.]+\.)?{name}\b",
            r"^\s*(?:(?:public|private|protected|internal|static|final|abstract|override|async)\s+)+[\w<>,.?\[\] ]*\b{name}\s*\(",
        ),
        r"^\s*(?:import|using|package)\s",
    ),
    "c": Language(
        ("*.c", "*.h", "*.cc", "*.cpp", "*.cxx", "*.hpp", "*.hh"),
        (
            r"^\s*#\s*define\s+{name}\b",
            r"\b(?:struct|class|enum|union|namespace)\s+{name}\b[^;]*$",
            rf"{_C_TYPE}(?:\w+::)*{{name}}\s*\([^;]*$",
        ),
        r"^\s*#\s*include\b|^\s*import\s|^\s*using\s",
    ),
    "ruby": Language(
        ("*.rb", "*.rake"),
        (r"^\s*def\s+(?:self\.)?{name}(?:\b|\s|\(|$)", r"^\s*(?:class|module)\s+(?:\w+::)*{name}\b", r"^\s*{name}\s*=[^=]"),
        r"^\s*(?:require|require_relative|load|include|extend)\b",
    ),
    "php": Language(
        ("*.php",),
        (r"\bfunction\s+&?{name}\b", r"\b(?:class|interface|trait|enum)\s+{name}\b", r"\bconst\s+{name}\b"),
        r"^\s*(?:use|require|require_once|include|include_once|namespace)\b",
    ),
    "bash": Language(
        ("*.sh", "*.bash"),
        (r"^\s*function\s+{name}\b", r"^\s*{name}\s*\(\)"),
        r"^\s*(?:source|\.)\s+\S",
    ),
}
_JAVASCRIPT = LANGUAGES["javascript"]
LANGUAGES["typescript"] = Language(
    ("*.ts", "*.tsx", "*.mts", "*.cts"),
    (
        *_JAVASCRIPT.definitions,
        r"\b(?:interface|type|enum|namespace)\s+{name}\b",
        r"^\s*(?:(?:public|private|protected|readonly|static|async|abstract)\s+)+{name}\s*[(<]",
    ),
    _JAVASCRIPT.imports,
)


def language_of(path: str) -> Language | None:
    """The language of a file, by its name."""
    ending = "*." + path.rpartition(".")[2].casefold()
    return next((language for language in LANGUAGES.values() if ending in language.files), None)


def definition(language: Language, name: str) -> str:
    """What finds a line that defines exactly this name."""
    return "|".join([f"(?:{pattern.format(name=re.escape(name))})" for pattern in language.definitions])


def any_definition(language: Language) -> str:
    """What finds a line that defines anything."""
    return "|".join([f"(?:{pattern.format(name=NAME)})" for pattern in language.definitions])
