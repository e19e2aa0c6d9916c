"""The settings page, in a real browser: of a server's owner, of an admin, and of a user."""

import pytest

from browser import needs_browser
from server.pages.axe import findings
from server.pages.shop import ORDER, clerk
from treadle.models.providers import PROVIDERS
from treadle.settings import provider_keys
from treadle.settings.loader import user_settings
from treadle.stores.owner_access import OwnerAccess
from treadle.stores.users import Users
from treadle.testing import calls
from treadle.toolsets.notes import Note, user_notes

pytestmark = needs_browser

KEY = "sk-proj-abcdefghijklmnopqrstuv"
SIGN_IN = """fetch("/login", {{method: "POST", headers: {{"content-type": "application/json"}}, body: '{{"token": "{token}"}}'}})
    .then(({{status}}) => status)"""
BEGUN = "import('/static/treadle.js').then(({ask}) => ask('/api/runs', {assistant: 'shop', message: 'Order.'})).then(() => true)"
READY = "!!document.querySelector('#data-amount')?.innerText && !!document.querySelector('#local-models li')"


@pytest.fixture(autouse=True)
def own(shop, tmp_path, monkeypatch):
    """The settings file of the shop's owner, without any key or variable of the machine."""
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(provider_keys, "_inherited", [])
    for name in {name for each in PROVIDERS.values() for name in (*each.keys, *each.base_urls)} | {"TREADLE_MODEL", "TREADLE_KEY"}:
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "own.toml"


@pytest.fixture
def owned(serve, tmp_path):
    """A server of one account, and its token."""
    access = OwnerAccess(tmp_path / "data")
    access.open()

    def serving(*replies):
        return serve(clerk(*replies), owner=access), access.token

    return serving


async def sign_in(page, url, token):
    assert await page.evaluate(SIGN_IN.format(token=token)) == 204
    await page.go(f"{url}/settings")


async def write(page, selector, text):
    await page.click(selector)
    await page.evaluate(f"document.querySelector({selector!r}).select?.()")
    await page.write(text)


def test_a_default_model_is_saved_and_counts_on_every_face(owned, visit, own):
    async def look(page):
        await sign_in(page, server.url, token)
        await page.wait_for(READY)
        assert f"Settings are written to {own}." in await page.text("#said")
        await write(page, "input[name=model]", "ollama:qwen3")
        await page.press("Enter")
        await page.wait_for("document.querySelector('#models').innerText.includes('Saved. It counts from now on')")
        await write(page, "input[name=model]", "command:rm")
        await page.press("Enter")
        await page.wait_for("document.querySelector('#models .bad')?.innerText.includes('known provider')")

    server, token = owned()
    with server:
        visit(f"{server.url}/login", look, expected=("status of 422",))
    assert user_settings().model.name == "ollama:qwen3"


def test_by_keyboard_alone_and_on_a_phone_a_source_of_tools_is_added_tested_and_removed(owned, visit, own):
    async def focus(page, name):
        for _ in range(120):
            if await page.evaluate(f"document.activeElement?.matches({name!r})"):
                return
            await page.press("Tab")
        raise AssertionError(f"{name} isn't reached by Tab")

    async def look(page):
        await sign_in(page, server.url, token)
        await page.wait_for(READY)
        assert await page.evaluate("document.documentElement.scrollWidth") == 390
        await focus(page, "#tools select[name=kind]")
        await page.press("ArrowDown")
        await focus(page, "#tools input[name=name]")
        await page.write("gone")
        await focus(page, "#tools input[name=address]")
        await page.write("/nothing/here --x")
        await page.press("Enter")
        await page.wait_for("document.querySelectorAll('#sources li').length === 1")
        assert user_settings().mcp["gone"].command == ("/nothing/here", "--x")
        await page.evaluate("document.querySelector('#tools').focus()")
        await focus(page, "[aria-label='Test gone']")
        await page.press("Enter")
        await page.wait_for("document.querySelector('#sources .bad[role=status]')?.innerText.includes('gone')")
        await focus(page, "[aria-label='Remove gone']")
        await page.press("Enter")
        await page.wait_for("document.querySelector('dialog.modal')?.open")
        await page.press("Enter")
        await page.wait_for("document.querySelector('#sources').hidden && document.activeElement.id === 'tools'")
        assert await findings(page) == []

    server, token = owned()
    with server:
        visit(f"{server.url}/login", look, width=390)
    assert user_settings().mcp == {}


def test_notes_are_edited_permissions_revoked_and_everything_is_deleted(owned, visit, own, tmp_path):
    async def edit_notes(page):
        await page.wait_for("document.querySelectorAll('#note-rows li').length === 2")
        assert "untrusted" in await page.text("#note-rows")
        await write(page, "[name=note-search]", "make")
        await page.wait_for("document.querySelectorAll('#note-rows li').length === 1")
        await page.click("#note-rows summary")
        await page.evaluate("document.querySelector('#note-rows textarea').value = 'make check'")
        await page.click("#note-rows [type=checkbox]")
        assert await findings(page) == []
        await page.click("#note-rows form button")
        await page.wait_for(
            "document.querySelector('#note-rows textarea').value === 'make check' && document.activeElement.id === 'notes'"
        )
        assert not notes.read("tests").untrusted
        await write(page, "[name=note-search]", "style")
        await page.wait_for("!!document.querySelector('[aria-label=\"Delete style\"]')")
        await page.click("[aria-label='Delete style']")
        await page.click("dialog.modal button[value=yes]")
        await page.wait_for("document.querySelector('#notes').innerText.includes('No matching notes.')")
        assert [(note.name, note.text) for note in notes.list()] == [("tests", "make check")]

    async def look(page):
        await sign_in(page, server.url, token)
        await page.evaluate(BEGUN)
        await page.wait_for(
            "import('/static/treadle.js').then(({ask}) => ask('/api/approvals')).then(said => said.approvals.length === 1)"
        )
        await page.go(f"{server.url}/settings")
        await page.wait_for("document.querySelector('#data-amount').innerText.startsWith('1 conversation or run, 0 jobs')")
        await edit_notes(page)
        await page.evaluate("document.querySelector('#permissions textarea').value = 'count_*\\n'")
        await page.click("#permissions form button")
        await page.wait_for("document.querySelector('#permissions form [role=status]').innerText.startsWith('Saved.')")
        await page.click("#delete-data")
        await page.click("dialog.modal button[value=yes]")
        await page.wait_for("document.querySelector('#data').innerText.includes('Deleted: 1 conversation or run and 0 jobs.')")
        await page.wait_for("document.querySelector('#data-amount').innerText.startsWith('0 conversations and runs')")
        await page.click("#appearance input[value=dark]")
        await page.wait_for("document.documentElement.dataset.theme === 'dark' && localStorage.getItem('treadle-theme') === 'dark'")

    notes = user_notes(tmp_path / "data")
    notes.write(Note("tests", "How tests are run", "make test", run_id="r1", untrusted=True))
    notes.write(Note("style", "Code style", "Tabs."))
    server, token = owned(calls(("order_items", ORDER)))
    with server:
        visit(f"{server.url}/login", look)
    assert user_settings().policy.allow == ("count_*",)
    assert notes.list() == []


def test_an_admin_manages_users_and_a_user_sees_what_is_theirs(serve, visit, tmp_path):
    users = Users(tmp_path / "users.db")
    root, anna = users.add("root", "admin"), users.add("anna")

    async def manage(page):
        await sign_in(page, server.url, root)
        await page.wait_for("document.querySelectorAll('#people li').length === 2")
        await write(page, "#users input[name=name]", "eve")
        await page.press("Enter")
        await page.wait_for("document.querySelector('#users .notice code')?.innerText.startsWith('treadle_eve_')")
        await page.wait_for("document.querySelectorAll('#people li').length === 3")
        await page.evaluate("document.querySelector('[aria-label=\"Remove eve\"]').click()")
        await page.click("dialog.modal button[value=yes]")
        await page.wait_for("document.querySelectorAll('#people li').length === 2")
        assert await page.evaluate("document.querySelector('#tools, #folders')") is None
        assert await findings(page) == []

    async def see(page):
        await sign_in(page, server.url, anna)
        await page.wait_for("!!document.querySelector('#data-amount')?.innerText")
        sections = "[...document.querySelectorAll('#settings > section')].map(each => each.id).join()"
        assert await page.evaluate(sections) == "permissions,notes,appearance,data"
        assert "Only an admin" in await page.text("#data")

    with serve(clerk(), users=users) as server:
        visit(f"{server.url}/login", manage)
        visit(f"{server.url}/login", see)
    assert [user.name for user in users.all()] == ["anna", "root"]
