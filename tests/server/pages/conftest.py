"""A shop on a server, and a way to show one of its pages to a test."""

import pytest
from msgspec import Struct

from server.pages.kept import asked, job
from server.pages.shop import LAMPS, LOOK, ORDER, Shop, clerk, courses, script_file
from server.running import Serving
from treadle.testing import calls


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


class Standing(Struct, frozen=True):
    """A server that is there for several tests, which only look: with a run in which an order waits, and a job that failed."""

    url: str
    run: str
    job: str


@pytest.fixture(scope="module")
def standing(tmp_path_factory):
    """One for all tests of a file."""
    folder = tmp_path_factory.mktemp("standing")
    made = job(folder, "Count", state="failed", why="It broke.", output={"summary": "It **works**.\n\nReally.", "verified": True})
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HOME", str(folder))
        patched.setenv("TREADLE_CONFIG", str(folder / "own.toml"))
        (folder / "own.toml").touch()
        model = clerk(LOOK, LAMPS, calls(("order_items", ORDER)))
        with Serving(folder, [Shop(folder).assistant, courses(folder)], model) as server:
            run = asked(server.url, "How many?")
            asked(server.url, "Order.", run_id=run, status="waiting")
            yield Standing(server.url, run, made.id)


@pytest.fixture
def visit(browser):
    """Shows a page to `look(page)`; unless something is expected, nothing may go wrong meanwhile."""
    runner, started = browser

    def visiting(url, look, *, expected=(), **how):
        async def run():
            page = await started.open(url, **how)
            await look(page)
            left = [problem for problem in page.problems if not any(words in problem for words in expected)]
            assert left == []
            await page.close()

        runner.run(run())

    return visiting
