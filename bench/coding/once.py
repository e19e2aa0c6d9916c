"""The same model asked once, without tools: it has the module and the tests of the workspace, and writes the function anew.

Nothing is run for it, and nothing is said twice. What it needn't write again, because it stays as it is, is kept from the module.
"""

import ast
import re

from bench.coding.tasks import Task

MOST_TOKENS = 1536  # of a reply: the longest module has about 700
INSTRUCTIONS = "You are a careful Python programmer who fixes bugs."
PROMPT = """\
This Python module has a bug in the function `{entry}`, so that it doesn't do what its docstring says:

```python
{buggy}
```

These are some of its tests:

```python
{tests}
```

Fix it. Give the whole corrected function in a fenced block of Python.
"""
FENCED = re.compile(r"^[ \t]*```[ \t]*(\w*)[^\n]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)


def prompt_for(task: Task) -> str:
    """Return what the model is asked."""
    return PROMPT.format(entry=task.entry, buggy=task.buggy.strip(), tests=task.tests.strip())


def code_in(reply: str, entry: str) -> str:
    """The first block of Python that has the function, else the first of them, else the whole reply."""
    blocks = [block for language, block in FENCED.findall(reply) if language.lower() in ("", "python", "python3", "py")]
    having = [block for block in blocks if re.search(rf"\bdef\s+{entry}\b", block)]
    return next(iter([*having, *blocks]), reply)


def completed(code: str, task: Task) -> str:
    """The code with the imports of the module, and with those of its functions that the code leaves out."""
    try:
        written = {node.name for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)}
    except (SyntaxError, ValueError):  # the latter for a null byte
        return code
    kept = [node for node in ast.parse(task.buggy).body if _stays(node, written | {task.entry})]
    return "\n".join([*map(ast.unparse, kept), "", code])


def _stays(node: ast.stmt, written: set[str]) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.FunctionDef(name=name):
            return name not in written
        case _:
            return False
