"""One browser for the pages, and a way to show one of them to a test."""

import pytest

from server.pages.shop import Shop, courses, script_file
from server.running import Serving


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A shop, and a person's settings in which a second model may be chosen."""
    other = script_file(tmp_path / "other.json", "The other model says so.", "And again.")
    settings = tmp_path / "own.toml"
    settings.write_text(f'[server]\nmodels = ["{other}"]\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TREADLE_CONFIG", str(settings))
    return Shop(tmp_path)


@pytest.fixture
def serve(shop, tmp_path):
    """Serves the shop with a model."""

    def serving(model=None, **more):
        return Serving(tmp_path, [shop.assistant, courses(tmp_path)], model, **more)

    return serving


@pytest.fixture
def visit(browser):
    """Shows a page to `look(page)`; unless something is expected, nothing may go wrong meanwhile."""
    runner, started = browser

    def visiting(url, look, *, expected=(), **how):
        async def run():
            page = await started.open(url, **how)
            await page.send("Storage.clearDataForOrigin", origin="*", storageTypes="local_storage")
            await look(page)
            left = [problem for problem in page.problems if not any(words in problem for words in expected)]
            assert left == []
            await page.send("Page.close")

        runner.run(run())

    return visiting
