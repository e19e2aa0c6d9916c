"""The same model asked once, without tools: it has the module and the tests of the workspace, and writes the function anew.

Nothing is run for it, and nothing is said twice. What it needn't write again, because it stays as it is, is kept from the module.
"""

import ast
import re

from bench.coding.tasks import Task
from treadle.core.messages import History, person_message
from treadle.core.requests import Options, Request, TextDelta
from treadle.core.seams import Model

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


async def once(model: Model, task: Task) -> str:
    """The module as the model would have it, whatever came of it."""
    said = PROMPT.format(entry=task.entry, buggy=task.buggy.strip(), tests=task.tests.strip())
    request = Request(INSTRUCTIONS, History([person_message(said)]), options=Options(temperature=0, max_tokens=MOST_TOKENS))
    words = [delta.text async for delta in model.reply(request) if isinstance(delta, TextDelta)]
    return completed(code_in("".join(words), task.entry), task)


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
