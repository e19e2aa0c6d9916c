"""Whether a page can be used by everybody, as axe sees it: its script, from a package on PyPI, run in the page."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from browser import Page

_PACKAGE = find_spec("axe_playwright_python")
_FOUND = """axe.run(document, {resultTypes: ["violations"]}).then(({violations}) => violations.map(
    ({id, impact, nodes}) => [impact, id, nodes.slice(0, 3).map(({target, failureSummary}) => `${target}: ${failureSummary}`)]))"""

needs_axe = pytest.mark.skipif(_PACKAGE is None, reason="axe-playwright-python, which carries axe, isn't installed")


async def findings(page: Page) -> list[Any]:
    """What is serious or worse."""
    assert _PACKAGE is not None
    assert _PACKAGE.origin is not None, "mark the test with `needs_axe`"
    if await page.evaluate("typeof axe") == "undefined":
        await page.evaluate((Path(_PACKAGE.origin).parent / "axe.min.js").read_text())
    return [found for found in await page.evaluate(_FOUND) if found[0] in ("serious", "critical")]
