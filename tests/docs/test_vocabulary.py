"""The code speaks the field's words: names are unique, docstrings standard English, and a stranger finds things by one search."""

import ast
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "treadle"

# Functions that several modules have because they implement one protocol: a command, a provider, an assistant's parts.
PROTOCOLS = {
    "run": "cli/commands/*.py and assistants' commands",
    "from_name": "models: entry points",
    "routes": "assistants/*/routes.py",
    "read_cases": "evals/suites/*.py",
    "main": "programs",
    **dict.fromkeys(("ask", "chat", "delete", "demo"), "assistants/*/command.py: parts of a command"),
    **dict.fromkeys(("ask_arguments", "chat_arguments", "delete_arguments", "demo_arguments", "run_arguments"), "their options"),
    **dict.fromkeys(("begin", "configure", "erase", "plan", "reply", "toolsets"), "assistants/*/session.py"),
}
WRAPPERS = ("checkpointed", "diagnosed", "prefixed", "prepared", "renamed", "untrusted")  # toolsets, said of the one inside
VERBS = ("embed", "exceed", "feed", "heed", "proceed")
DIALECT = r"\b(whoever|nobody|somebody|what came of|is told|are told)\b"
PAGE_DIALECT = r"\b(whoever|nobody|somebody|anybody|everybody|what came of|what became of|mended)\b"
PAGES = sorted(page for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")] if page.name not in ("seeds.md", "modules.md"))
MOST_DIALECT = 60  # of 10,000 docstrings' sentences; lower it, never raise it

# What a newcomer looks for, and the module whose docstrings say so in these words.
QUESTIONS = [
    ("[Rr]ate limit", "server/limits.py"),
    ("server-sent events", "server/runs/sse.py"),
    ("settings file", "settings/toml.py"),
    ("[Aa]uthenticat", "server/auth.py"),
    ("middleware", "server/auth.py"),
    ("cursor", "server/runs/sse.py"),
    ("connection pool|[Cc]onnection", "models/connections.py"),
    ("[Rr]edact", "guard/redaction.py"),
    ("lease", "stores/leases.py"),
    ("[Rr]etry policy", "loop/retry.py"),
    ("path traversal|beneath|openat2", "files/openat2.py"),
    ("system prompt|instructions", "agent/agent.py"),
]


@cache
def modules() -> dict[str, ast.Module]:
    return {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}


def public(kind: type | tuple[type, ...]) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, tree in modules().items():
        for node in tree.body:
            if isinstance(node, kind) and not node.name.startswith("_") and name not in found[node.name]:  # once for all overloads
                found[node.name].append(name)
    return found


def docstrings(tree: ast.Module) -> list[str]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [text for node in ast.walk(tree) if isinstance(node, kinds) and (text := ast.get_docstring(node))]


def test_no_two_public_classes_share_a_name():
    assert {name: places for name, places in public(ast.ClassDef).items() if len(places) > 1} == {}


def test_no_two_public_functions_share_a_name_unless_they_implement_one_protocol():
    functions = public((ast.FunctionDef, ast.AsyncFunctionDef))
    assert {name: places for name, places in functions.items() if len(places) > 1 and name not in PROTOCOLS} == {}
    assert [name for name in PROTOCOLS if len(functions[name]) < 2] == []


def test_functions_are_verbs():
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    owners = [
        (name, node)
        for name, tree in modules().items()
        for node in (tree, *tree.body)
        if isinstance(node, ast.Module | ast.ClassDef)
    ]
    functions = [
        (name, each) for name, owner in owners for each in owner.body if isinstance(each, kinds) and not each.name.startswith("_")
    ]
    plain = [
        (name, each.name) for name, each in functions if not any("property" in ast.unparse(mark) for mark in each.decorator_list)
    ]
    participles = [(name, each) for name, each in plain if re.fullmatch("[a-z]+ed", each) and each not in {*WRAPPERS, *VERBS}]
    assert participles == []


def test_docstrings_are_standard_english():
    texts = [text for tree in modules().values() for text in docstrings(tree)]
    found = Counter(word.lower() for text in texts for word in re.findall(DIALECT, text, re.IGNORECASE))
    assert found.total() <= MOST_DIALECT, found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_are_standard_english(page):
    text = re.sub(r"`[^`\n]*`|\([^)\s]*\.md[^)]*\)", "", page.read_text())  # names of files and tests stay as they are
    assert re.findall(PAGE_DIALECT, text, re.IGNORECASE) == []


@pytest.mark.parametrize(("words", "module"), QUESTIONS)
def test_a_stranger_finds_it_by_one_search(words, module):
    assert re.search(words, "\n".join(docstrings(ast.parse((SOURCE / module).read_text()))))


def test_the_architecture_can_be_read_in_ten_minutes():
    assert len((ROOT / "ARCHITECTURE.md").read_bytes()) <= 10_000
