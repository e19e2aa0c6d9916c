"""The settings page's API, over HTTP: what is shown, who may change it, and that no key comes back."""

import asyncio
import io
import json
import zipfile
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from httpx import ASGITransport, AsyncClient

from server.pages.shop import ORDER, Shop, clerk
from server.running import host
from treadle.home import close_home
from treadle.models.providers import PROVIDERS
from treadle.server.app import create_app
from treadle.server.settings import providers
from treadle.settings import provider_keys
from treadle.settings.loader import user_settings
from treadle.stores.owner_access import OwnerAccess
from treadle.stores.users import Users
from treadle.testing import calls
from treadle.toolsets.notes import Note, project_notes, user_notes

KEY = "sk-proj-abcdefghijklmnopqrstuv"


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    """The settings file, without any key or variable of the machine."""
    path = tmp_path / "own.toml"
    path.write_text("# mine\n[limits]\nrounds = 40\n")
    monkeypatch.setenv("TREADLE_CONFIG", str(path))
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(provider_keys, "_inherited", [])
    for name in {name for each in PROVIDERS.values() for name in (*each.keys, *each.base_urls)} | {"TREADLE_MODEL", "TREADLE_KEY"}:
        monkeypatch.delenv(name, raising=False)
    return path


class Server:
    """A server in this process, and what somebody asks it."""

    def __init__(self, client):
        self.client = client

    async def __call__(self, method, path, body=None, token=""):
        headers = {"authorization": f"Bearer {token}"} if token else {}
        answer = await self.client.request(method, path, json=body, headers=headers)
        return answer.status_code, answer.json() if answer.headers.get("content-type") == "application/json" else answer.content


@asynccontextmanager
async def serving(folder, *assistants, model=None, **more):
    lent = host(folder, model)
    app = create_app(list(assistants), lent, hosts=["localhost"], **more)
    transport = ASGITransport(app)
    async with app.router.lifespan_context(app), AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield Server(client)
    close_home(lent.home)


@pytest.fixture
def owned(tmp_path):
    """What is asked of a server of one account, by that account."""

    def run(asking, *assistants, **more):
        async def go():
            access = OwnerAccess(tmp_path / "data")
            access.open()
            async with serving(tmp_path, *assistants, owner=access, **more) as server:
                server.client.headers["authorization"] = f"Bearer {access.token}"
                return await asking(server)

        return asyncio.run(go())

    return run


@pytest.fixture
def shared(tmp_path):
    """What is asked of a server with users: an admin, a user and a reader."""

    def run(asking, *assistants, **more):
        users = Users(tmp_path / "users.db")
        tokens = {name: users.add(name, role) for name, role in (("root", "admin"), ("anna", "user"), ("ben", "reader"))}

        async def go():
            async with serving(tmp_path, *assistants, users=users, **more) as server:
                return await asking(server, tokens)

        return asyncio.run(go())

    return run


def value_of(said, key):
    return next(each for each in said["values"] if each["key"] == key)


def test_a_setting_is_changed_in_the_file_and_counts_on_every_face(owned, own):
    async def asking(ask):
        _, before = await ask("GET", "/api/settings")
        assert before["file"] == str(own)
        assert before["locked"] == ""
        assert value_of(before, "server.models") == {"key": "server.models", "value": [], "source": "default", "locked": ""}
        status, said = await ask("PUT", "/api/settings/values/model.name", {"value": "ollama:qwen3"})
        assert (status, said["value"], said["source"]) == (200, "ollama:qwen3", str(own))
        await ask("PUT", "/api/settings/values/policy.deny", {"value": ["delete_*"]})
        return await ask("PUT", "/api/settings/values/policy.deny", {"value": None})

    assert owned(asking)[1]["value"] == []
    assert own.read_text() == '# mine\n[limits]\nrounds = 40\n\n[model]\nname = "ollama:qwen3"\n\n[policy]\n'
    assert user_settings().model.name == "ollama:qwen3"


@pytest.mark.parametrize(
    ("key", "value", "status", "words"),
    [
        ("model.name", "command:rm", 422, "known provider"),
        ("server.models", ["openai:x", "command:y"], 422, "known provider"),
        ("model.name", "nothing", 422, "known provider"),
        ("retention.runs_days", -1, 422, "retention.runs_days"),
        ("commands.sandbox", False, 404, "edit treadle.toml"),
        ("mcp.x.command", ["rm"], 404, "edit treadle.toml"),
    ],
)
def test_what_the_page_may_not_set_is_refused(owned, own, key, value, status, words):
    before = own.read_text()

    async def asking(ask):
        return await ask("PUT", f"/api/settings/values/{key}", {"value": value})

    got, said = owned(asking)
    assert got == status
    assert words in said["error"]
    assert own.read_text() == before


def test_a_variable_takes_precedence_and_says_so(owned, monkeypatch):
    monkeypatch.setenv("TREADLE_MODEL", "ollama:other")

    async def asking(ask):
        _, said = await ask("GET", "/api/settings")
        return value_of(said, "model.name"), await ask("PUT", "/api/settings/values/model.name", {"value": "ollama:qwen3"})

    shown, (status, said) = owned(asking)
    assert (shown["value"], shown["source"]) == ("ollama:other", "TREADLE_MODEL")
    assert status == 409
    assert said["error"] == "The environment variable TREADLE_MODEL is set, and takes precedence."


def test_a_key_is_stored_and_never_comes_back(owned, tmp_path, monkeypatch):
    async def asking(ask):
        said = [await ask("PUT", "/api/settings/providers/openai/key", {"key": f" {KEY}\n"})]
        for path in ("/api/settings", "/api/settings/providers", "/api/models", "/openapi.json"):
            said.append(await ask("GET", path))
        monkeypatch.setenv("GROQ_API_KEY", KEY)
        return said, await ask("GET", "/api/settings/providers"), await ask("DELETE", "/api/settings/providers/openai/key")

    said, (_, listed), removed = owned(asking)
    assert KEY not in json.dumps(said, default=str)
    assert KEY not in json.dumps(listed)
    stored = next(each for each in listed["providers"] if each["kind"] == "openai")
    assert (stored["key"], stored["ending"], stored["variable"]) == ("stored", "stuv", "OPENAI_API_KEY")
    groq = next(each for each in listed["providers"] if each["kind"] == "groq")
    assert (groq["key"], groq["ending"]) == ("variable", "")
    assert removed[0] == 204
    assert all(KEY.encode() not in path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("kind", "key", "status"), [("nothing", KEY, 404), ("openai", "has a blank", 422), ("openai", "ü" * 20, 422)]
)
def test_what_is_no_key_is_refused_and_not_repeated(owned, kind, key, status):
    async def asking(ask):
        return await ask("PUT", f"/api/settings/providers/{kind}/key", {"key": key})

    got, said = owned(asking)
    assert got == status
    assert key not in said["error"]


@asynccontextmanager
async def provider(status):
    """A server of a provider on this machine that says this, and the keys that it was sent."""
    keys = []

    async def answer(request):
        keys.append(request.headers.get("authorization"))
        if status != 200:
            return web.json_response({"error": {"message": f"no such key {KEY}"}}, status=status)
        reply = {"choices": [{"message": {"role": "assistant", "content": "OK"}, "finish_reason": "stop"}], "usage": {}}
        return web.json_response({"id": "x", "object": "chat.completion", "model": "m", **reply})

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1", keys
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("status", "words"), [(200, "groq:openai/gpt-oss-120b replied after"), (401, "the key of Groq on the settings page")]
)
def test_a_key_is_tested_with_one_request(owned, own, status, words):
    async def asking(ask):
        async with provider(status) as (url, keys):
            own.write_text(f'[providers.groq]\nbase_url = "{url}"\n')
            await ask("PUT", "/api/settings/providers/groq/key", {"key": KEY})
            _, said = await ask("POST", "/api/settings/providers/groq/test")
            return said, keys

    said, keys = owned(asking)
    assert said["ok"] is (status == 200)
    assert words in said["message"]
    assert KEY not in said["message"]
    assert keys == [f"Bearer {KEY}"]


def test_a_test_without_a_key_or_a_model_says_what_to_do(owned, monkeypatch):
    monkeypatch.setattr(providers, "TEST_SECONDS", 0.0)

    async def asking(ask):
        return [await ask("POST", f"/api/settings/providers/{kind}/test", body) for kind, body in (("groq", {}), ("vllm", {}))]

    (_, missing), (status, unnamed) = owned(asking)
    assert "GROQ_API_KEY" in missing["message"]
    assert status == 422
    assert "name one" in unnamed["error"]


DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "x", "version": "1"},
    "servers": [{"url": "https://example.org"}],
    "paths": {"/items": {"get": {"operationId": "list_items", "responses": {"200": {"description": "all"}}}}},
}


def test_sources_of_tools_are_added_tested_and_removed(owned, own, tmp_path):
    (tmp_path / "shop.json").write_text(json.dumps(DOCUMENT))

    async def asking(ask):
        assert (await ask("GET", "/api/settings/tools"))[1] == {"sources": [], "locked": ""}
        added = await ask("PUT", "/api/settings/tools/openapi/shop", {"document": "shop.json"})
        await ask("PUT", "/api/settings/tools/mcp/gone", {"command": "/nothing/here 'a b' x"})
        tests = [(await ask("POST", f"/api/settings/tools/{each}/test"))[1] for each in ("openapi/shop", "mcp/gone")]
        wrong = [
            await ask("PUT", "/api/settings/tools/mcp/gone", {"command": ["x"], "url": "https://example.org"}),
            await ask("PUT", "/api/settings/tools/tools/x", {"command": ["x"]}),
            await ask("PUT", "/api/settings/tools/mcp/no name!", {"url": "https://example.org"}),
            await ask("PUT", "/api/settings/tools/mcp/open", {"command": "say 'hello"}),
            await ask("DELETE", "/api/settings/tools/mcp/nothing"),
        ]
        listed = (await ask("GET", "/api/settings/tools"))[1]["sources"]
        removed = [(await ask("DELETE", f"/api/settings/tools/{each}"))[0] for each in ("openapi/shop", "mcp/gone")]
        return added, tests, [status for status, _ in wrong], listed, removed

    (status, added), (works, fails), wrong, listed, removed = owned(asking)
    assert (status, added["address"]) == (200, "shop.json")
    assert works == {"ok": True, "message": "It has 1 tool: shop_list_items."}
    assert fails["ok"] is False
    assert "gone" in fails["message"]
    assert wrong == [422, 422, 422, 422, 404]
    assert [(each["kind"], each["name"], each["address"]) for each in listed] == [
        ("mcp", "gone", "/nothing/here 'a b' x"),
        ("openapi", "shop", "shop.json"),
    ]
    assert removed == [204, 204]
    assert "shop" not in own.read_text()
    assert "# mine" in own.read_text()


CHANGES = [
    ("PUT", "/api/settings/values/model.name", {"value": "ollama:qwen3"}),
    ("PUT", "/api/settings/providers/openai/key", {"key": KEY}),
    ("DELETE", "/api/settings/providers/openai/key", None),
    ("POST", "/api/settings/providers/openai/test", None),
    ("POST", "/api/settings/downloads/smollm2-135m", None),
    ("PUT", "/api/settings/tools/mcp/x", {"url": "https://example.org"}),
    ("DELETE", "/api/settings/tools/mcp/x", None),
    ("POST", "/api/settings/tools/mcp/x/test", None),
    ("GET", "/api/settings/users", None),
    ("POST", "/api/settings/users", {"name": "eve", "role": "admin"}),
    ("PUT", "/api/settings/users/anna", {"role": "admin"}),
    ("POST", "/api/settings/users/root/token", None),
    ("DELETE", "/api/settings/users/root", None),
]


@pytest.mark.parametrize("name", ["anna", "ben"])
def test_who_is_no_admin_changes_nothing_of_the_server(shared, own, name):
    async def asking(ask, tokens):
        said = [await ask(*change, token=tokens[name]) for change in CHANGES]
        shown = (await ask("GET", "/api/settings", token=tokens[name]))[1]
        return said, shown, (await ask("GET", "/api/settings/providers", token=tokens[name]))[0]

    before = own.read_text()
    said, shown, providers_status = shared(asking)
    assert {status for status, _ in said} == {403}
    assert providers_status == 403
    assert shown["file"] == ""
    assert [each["key"] for each in shown["values"]] == ["retention.runs_days", "retention.jobs_days"]
    assert own.read_text() == before


def test_a_server_without_a_token_shows_settings_and_changes_none(tmp_path, own):
    async def asking():
        async with serving(tmp_path) as ask:
            return (await ask("GET", "/api/settings"))[1], [await ask(*change) for change in CHANGES if change[0] != "GET"]

    shown, said = asyncio.run(asking())
    assert "--no-token" in shown["locked"]
    assert {status for status, _ in said} == {403}


def test_an_admin_of_a_shared_server_names_no_programs_and_no_folders(shared):
    async def asking(ask, tokens):
        wanted = [
            ("PUT", "/api/settings/tools/mcp/x", {"command": ["rm"]}),
            ("GET", "/api/settings/tools", None),
            ("PUT", "/api/settings/values/assistants.coding.workspaces", {"value": ["/"]}),
        ]
        refused = [await ask(*each, token=tokens["root"]) for each in wanted]
        return refused, await ask("PUT", "/api/settings/values/model.name", {"value": "ollama:qwen3"}, token=tokens["root"])

    refused, changed = shared(asking)
    assert {status for status, _ in refused} == {403}
    assert all("owner's treadle.toml" in said["error"] for _, said in refused)
    assert changed[0] == 200


def test_an_admin_manages_users_and_not_their_own_account(shared):
    async def asking(ask, tokens):
        root = tokens["root"]
        status, added = await ask("POST", "/api/settings/users", {"name": "eve"}, token=root)
        assert status == 201
        assert (await ask("GET", "/api/me", token=added["token"]))[1]["name"] == "eve"
        changed = await ask("PUT", "/api/settings/users/eve", {"role": "reader"}, token=root)
        renewed = await ask("POST", "/api/settings/users/eve/token", token=root)
        refused = [
            await ask("POST", "/api/settings/users", {"name": "eve"}, token=root),
            await ask("PUT", "/api/settings/users/root", {"role": "user"}, token=root),
            await ask("DELETE", "/api/settings/users/root", token=root),
            await ask("DELETE", "/api/settings/users/nothing", token=root),
        ]
        removed = await ask("DELETE", "/api/settings/users/eve", token=root)
        return (
            changed,
            renewed,
            [status for status, _ in refused],
            removed,
            (await ask("GET", "/api/settings/users", token=root))[1],
        )

    changed, renewed, refused, removed, listed = shared(asking)
    assert changed[1]["role"] == "reader"
    assert renewed[1]["token"].startswith("treadle_eve_")
    assert refused == [422, 409, 409, 404]
    assert removed[0] == 204
    assert [each["name"] for each in listed["users"]] == ["anna", "ben", "root"]


def test_a_server_without_users_says_how_to_add_one(owned):
    async def asking(ask):
        return await ask("GET", "/api/settings/users")

    status, said = owned(asking)
    assert status == 409
    assert "treadle users add" in said["error"]


async def until(ask, run_id, status, token=""):
    while (said := (await ask("GET", f"/api/runs/{run_id}?wait=20", token=token))[1])["run"]["status"] != status:
        pass
    return said


def test_a_users_data_is_exported_and_deleted_and_no_one_elses(shared, tmp_path):
    home = tmp_path / "data" / "users" / "anna"
    for notes in (user_notes(home), project_notes(home, tmp_path)):
        notes.write(Note("tea", "what anna drinks", "Green tea."))

    async def asking(ask, tokens):
        runs = {}
        for name in ("root", "anna"):
            _, begun = await ask("POST", "/api/runs", {"assistant": "shop", "message": f"A secret of {name}."}, token=tokens[name])
            runs[name] = begun["run_id"]
            await until(ask, begun["run_id"], "waiting", tokens[name])
        bad = {"rating": "bad", "comment": "Too dear."}
        for name, status in (("anna", 200), ("root", 404)):  # as for every other route, a run of another user isn't there
            assert (await ask("PUT", f"/api/runs/{runs['anna']}/feedback/1", bad, token=tokens[name]))[0] == status
        _, archive = await ask("GET", "/api/settings/data/export", token=tokens["anna"])
        unconfirmed = await ask("POST", "/api/settings/data/delete", {"confirm": "yes"}, token=tokens["anna"])
        deleted = await ask("POST", "/api/settings/data/delete", {"confirm": "delete everything"}, token=tokens["anna"])
        left = [(await ask("GET", "/api/settings/data", token=tokens[name]))[1] for name in ("root", "anna")]
        return runs, archive, unconfirmed[0], deleted[1], left

    shop = Shop(tmp_path)
    runs, archive, unconfirmed, deleted, left = shared(asking, shop.assistant, model=clerk(*[calls(("order_items", ORDER))] * 2))
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        names = ["jobs.json", "notes.json", "permissions.json", f"runs/{runs['anna']}.json", "shares.json"]
        assert sorted(files.namelist()) == names
        assert b"A secret of anna." in files.read(f"runs/{runs['anna']}.json")
        assert json.loads(files.read(f"runs/{runs['anna']}.json"))["feedback"][0]["comment"] == "Too dear."
        assert [note["text"] for note in json.loads(files.read("notes.json"))] == ["Green tea."] * 2
    assert unconfirmed == 400
    assert deleted == {"runs": 1, "jobs": 0, "grants": 0, "notes": 2, "left": 0}
    assert left == [{"runs": 1, "jobs": 0, "grants": 0, "notes": 0}, {"runs": 0, "jobs": 0, "grants": 0, "notes": 0}]


def test_notes_are_listed_edited_and_deleted_by_their_user_alone(shared, tmp_path):
    home = tmp_path / "data" / "users" / "anna"
    mine, about = user_notes(home), project_notes(home, tmp_path)
    mine.write(Note("tests", "How tests are run", "make test", by="anna", run_id="r1", at="2026-11-17T16:20:00Z", untrusted=True))
    about.write(Note("style", "Code style", "Tabs.", "project"))
    tests = "/api/notes/user/tests"

    async def asking(ask, tokens):
        anna = tokens["anna"]
        _, before = await ask("GET", "/api/notes", token=anna)
        _, other = await ask("GET", "/api/notes", token=tokens["root"])
        change = {"text": " make check ", "description": "How\ntests run", "untrusted": False}
        changed = await ask("PUT", tests, change, token=anna)
        problems = [
            await ask(method, path, body, token=token)
            for method, path, body, token in (
                ("PUT", tests, change, tokens["root"]),
                ("PUT", tests, {**change, "text": KEY}, anna),
                ("PUT", tests, {**change, "text": " "}, anna),
                ("PUT", "/api/notes/user/none", change, anna),
                ("DELETE", "/api/notes/projects/style", None, anna),
                ("DELETE", "/api/notes/user/..%2Fstyle", None, anna),
            )
        ]
        deleted = await ask("DELETE", f"/api/notes/{about.path.name}/style", token=anna)
        _, after = await ask("GET", "/api/notes", token=anna)
        return before, other, changed, problems, deleted, after

    before, other, changed, problems, deleted, after = shared(asking)
    assert (before["enabled"], before["locked"], other["notes"]) == (False, "", [])
    assert [(note["folder"], note["name"], note["untrusted"]) for note in before["notes"]] == [
        ("user", "tests", True),
        (about.path.name, "style", False),
    ]
    assert changed[0] == 200
    assert [status for status, _ in problems] == [404, 422, 422, 404, 404, 404]
    assert "password or key" in problems[1][1]["error"]
    assert deleted[0] == 204
    assert [note["text"] for note in after["notes"]] == ["make check"]
    kept = mine.read("tests")
    assert (kept.description, kept.by, kept.run_id, kept.untrusted) == ("How tests run", "anna", "r1", False)


def test_without_authentication_notes_are_shown_and_not_changed(tmp_path):
    user_notes(tmp_path / "data").write(Note("tests", "How tests are run", "make test"))

    async def asking():
        async with serving(tmp_path) as ask:
            _, found = await ask("GET", "/api/notes")
            body = {"text": "Allow everything.", "description": "x"}
            refused = [(await ask(method, "/api/notes/user/tests", sent))[0] for method, sent in (("PUT", body), ("DELETE", None))]
            return found, refused

    found, refused = asyncio.run(asking())
    assert [note["name"] for note in found["notes"]] == ["tests"]
    assert "no token" in found["locked"]
    assert refused == [403, 403]
