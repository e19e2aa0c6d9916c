"""Tools of OpenAPI documents and MCP servers on the command line, with credentials that only their servers see."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from cli.forkserver import launched
from cli.petstore import DOCUMENT, KEY, MCP_SERVER, PASSWORD, TOKEN, petstore
from cli.running import TOOLBOX, InProcess, asks, environment, opened, script

SECRETS = (KEY, TOKEN, PASSWORD, PASSWORD.partition(":")[2])


@pytest.fixture
def store():
    with petstore() as running:
        yield running


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    typed = InProcess(tmp_path, monkeypatch, capsys)
    typed.set(STORE_KEY=KEY, STORE_TOKEN=TOKEN, STORE_LOGIN=PASSWORD)
    return typed


@pytest.fixture
def file(tmp_path):
    """The document as a file, whose server is relative."""
    path = tmp_path / "petstore.json"
    path.write_text(json.dumps(DOCUMENT))
    return str(path)


@pytest.fixture
def who(tmp_path):
    """The command of an MCP server."""
    (tmp_path / "who.py").write_text(MCP_SERVER)
    return " ".join(launched(str(tmp_path / "who.py")))


def written(home: Path) -> bytes:
    """Everything in the data folder."""
    return b"".join(path.read_bytes() for path in (home / "data").rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("tool", "arguments", "credential"),
    [
        ("findPetsByStatus", {"status": "available"}, "petstore_auth=@STORE_TOKEN"),
        ("findPetsByStatus", {"status": "available"}, "bearer=@STORE_TOKEN"),
        ("getInventory", {}, "api_key=@STORE_KEY"),
        ("getUsers", {}, "login=@STORE_LOGIN"),
        ("getUsers", {}, "basic=@STORE_LOGIN"),
        ("getSession", {}, "session=@STORE_TOKEN"),
        ("getSession", {}, "127-0-0-1.session=@STORE_TOKEN"),
    ],
)
def test_an_operation_is_called_with_the_credential_that_its_scheme_wants(typed, store, tmp_path, tool, arguments, credential):
    ran = typed(
        *("tool", "call", tool, "--arguments", json.dumps(arguments)),
        *("--openapi", f"{store.url}/openapi.json", "--credential", credential, "--json"),
    )
    assert ran.code == 0, ran.err
    assert ran.json[0]["id"] == 7
    assert not any(secret in ran.out + ran.err for secret in SECRETS)  # although the server repeats it
    assert not any(secret.encode() in written(tmp_path) for secret in SECRETS)


def test_a_document_in_a_file_is_called_at_the_server_that_is_named(typed, store, file):
    words = ("tool", "call", "getInventory", "--openapi", file, "--credential", "api_key=@STORE_KEY", "--json")
    refused = typed(*words)
    assert (refused.code, refused.out) == (2, "")
    assert "names the server '/api/v3'" in refused.err
    assert "--openapi-server" in refused.err
    assert typed(*words, "--openapi-server", f"{store.url}/api/v3").json[0]["id"] == 7


def test_a_model_calls_the_operations_and_sees_no_credential(typed, store, tmp_path):
    model = script(tmp_path, asks(("getInventory", {})), "There is Rex.")
    ran = typed(
        *("ask", "What is there?", "-m", model, "--openapi", f"{store.url}/openapi.json", "--credential", "api_key=@STORE_KEY"),
        "--json",
    )
    assert (ran.code, ran.json["output"]) == (0, "There is Rex.")
    assert KEY not in ran.out + ran.err
    assert KEY.encode() not in written(tmp_path)
    shown = typed("show", ran.json["run_id"], "--entries")
    assert '"sources":[{"kind":"openapi"' in shown.out
    assert KEY not in shown.out


def test_a_call_without_its_credential_says_which_option_gives_it(typed, store):
    ran = typed("tool", "call", "shop_getInventory", "--openapi", f"shop={store.url}/openapi.json")
    assert (ran.code, ran.out) == (1, "")
    assert "shop.api_key=@VARIABLE after --credential" in ran.err
    assert [path for _, path, _ in store.requests] == ["/openapi.json"]


def test_a_credential_goes_to_the_source_it_is_for_and_to_no_other(typed, store):
    with petstore() as other:
        sources = ("--openapi", f"one={store.url}/openapi.json", "--openapi", f"two={other.url}/openapi.json")
        unsaid = typed("tool", "list", *sources, "--credential", "api_key=@STORE_KEY")
        assert (unsaid.code, unsaid.out) == (2, "")
        assert "NAME is one of one, two" in unsaid.err
        said = (*sources, "--credential", "one.api_key=@STORE_KEY")
        assert typed("tool", "call", "one_getInventory", *said, "--json").json[0]["id"] == 7
        assert typed("tool", "call", "two_getInventory", *said, "--json").code == 1
    assert not any("api_key" in headers for _, _, headers in other.requests)


def test_tools_of_a_document_have_a_toolset_of_their_own_for_rules(typed, store):
    ran = typed("tool", "list", "--openapi", f"{store.url}/openapi.json", "--json")
    assert {tool["spec"]["name"] for tool in ran.json} >= {"getInventory", "addPet"}
    assert {tool["toolset"] for tool in ran.json} == {"openapi.127-0-0-1"}


@pytest.mark.parametrize(
    "credential",
    [f"api_key={KEY}", KEY, f"api_key=@{KEY}", "api_key", "=@STORE_KEY", "api_key=", "api_key=@", "api_key=@-"],
)
def test_a_credential_in_clear_is_refused_and_not_repeated(typed, file, credential):
    ran = typed("ask", "hello", "--openapi", file, "--credential", credential)
    assert (ran.code, ran.out) == (2, "")
    assert "takes the name of an environment variable" in ran.err
    assert KEY not in ran.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--openapi", "no.json"], "there is no such file"),
        (["--openapi", "https://ann:pa55@x.example/openapi.json"], "must not have a password"),
        (["--openapi", "https://x.example/?api_key=sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"], "seems to have a secret"),
        (["--openapi", "http://x y/"], "no address"),
        (["--openapi", "FILE", "--credential", "api_key=@NOT_SET"], "NOT_SET, which isn't set"),
        (["--credential", "api_key=@STORE_KEY", "--tools", "treadle.cli.demo"], "is for tools of --openapi or --mcp"),
        (["--openapi", "FILE", "--openapi-server", "other=https://x.example"], "NAME is one of petstore"),
        (["--openapi", "FILE", "--openapi", "FILE", "--openapi-server", "petstore=https://x.example"], "which document"),
        (["--openapi", "FILE", "--openapi-server", "ftp://x.example"], "Only http and https"),
        (["--mcp", "sh 'unclosed"], "no command line"),
        (["--mcp", " "], "needs a command"),
        (["--mcp", "serve --key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"], "seems to have a secret"),
        (["--openapi", "http://127.0.0.1:9/openapi.json"], "can't be fetched"),
        (["--openapi", "http://169.254.169.254/openapi.json"], "link-local"),
    ],
)
def test_what_cannot_be_a_source_is_a_sentence(typed, file, words, sentence):
    ran = typed("tool", "list", *[file if word == "FILE" else word for word in words])
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert "pa55" not in ran.err
    assert "sk-proj-" not in ran.err


def test_a_server_that_a_document_calls_local_needs_to_be_named_by_the_person(typed, store, tmp_path):
    (tmp_path / "local.json").write_text(json.dumps({**DOCUMENT, "servers": [{"url": f"{store.url}/api/v3"}]}))
    words = ("tool", "call", "getInventory", "--openapi", "local.json", "--credential", "api_key=@STORE_KEY", "--json")
    refused = typed(*words)
    assert (refused.code, refused.out) == (1, "")
    assert "loopback address" in refused.err
    assert store.requests == []
    assert typed(*words, "--openapi-server", f"{store.url}/api/v3").json[0]["id"] == 7


def test_a_run_that_waits_is_approved_and_resumed_with_its_sources(typed, store, tmp_path, monkeypatch):
    model = script(tmp_path, asks(("addPet", {})), "It is added.")
    words = ("--openapi", f"{store.url}/openapi.json", "--credential", "api_key=@STORE_KEY")
    ran = typed("ask", "Add a pet.", "-m", model, *words, "--json")
    assert (ran.code, ran.json["stopped"]) == (3, "waiting")
    run_id = ran.json["run_id"]
    assert typed("approve", run_id, ran.json["approvals"][0]["call_id"]).code == 0
    monkeypatch.delenv("STORE_KEY")
    missing = typed("resume", run_id)
    assert (missing.code, missing.out) == (2, "")
    assert f"The credential api_key of --openapi {store.url}/openapi.json" in missing.err
    assert "STORE_KEY, which isn't set" in missing.err
    assert "POST" not in {method for method, _, _ in store.requests}
    typed.set(OTHER_KEY=KEY)
    script(tmp_path, "It is added.")
    again = typed("resume", run_id, "--credential", "api_key=@OTHER_KEY")
    assert (again.code, again.out) == (0, "It is added.\n"), again.err
    assert [path for method, path, _ in store.requests if method == "POST"] == ["/api/v3/pet"]


def test_a_chat_has_the_tools(typed, store, tmp_path):
    model = script(tmp_path, asks(("getInventory", {})), "There is Rex.")
    words = ("--openapi", f"{store.url}/openapi.json", "--credential", "api_key=@STORE_KEY")
    ran = typed("chat", "-m", model, *words, stdin="What is there?\n")
    assert (ran.code, "There is Rex." in ran.out) == (0, True)


def test_a_command_is_an_mcp_server_whose_credentials_are_its_variables(typed, who, tmp_path):
    listed = typed("tool", "list", "--mcp", who, "--json")
    assert [tool["spec"]["name"] for tool in listed.json] == ["whoami", "repeat"]
    words = ("tool", "call", "--yes", "--json", "--mcp", f"who={who}")
    assert typed(*words, "who_whoami").json == "unknown"
    assert typed(*words, "who_whoami", "--credential", "WHO_TOKEN=@STORE_TOKEN").json == "known"
    repeated = typed(*words, "who_repeat", "--credential", "WHO_TOKEN=@STORE_TOKEN")
    assert repeated.json == "The token is [redacted:known]"
    assert TOKEN not in repeated.err
    assert TOKEN.encode() not in written(tmp_path)


def test_a_call_of_an_mcp_server_is_resumed_with_its_command(typed, who):
    ran = typed("tool", "call", "whoami", "--mcp", who, "--credential", "WHO_TOKEN=@STORE_TOKEN")
    assert (ran.code, ran.out) == (3, "")
    (info,) = typed("runs", "--json").json
    typed("approve", info["run_id"], "call_1")
    assert typed("resume", info["run_id"], "--json").json == "known"


def test_sections_of_the_settings_are_sources_by_their_name(typed, store, who, tmp_path):
    command = json.dumps(who.split())
    (tmp_path / "own.toml").write_text(
        f'[mcp.who]\ncommand = {command}\nassistants = ["coding"]\n'
        f'[openapi.shop]\ndocument = "{store.url}/openapi.json"\nprivate = true\nprefix = false\nassistants = ["coding"]\n'
    )
    typed.set(TREADLE_CONFIG=str(tmp_path / "own.toml"))
    words = ("--mcp", "who", "--openapi", "shop")
    names = [tool["spec"]["name"] for tool in typed("tool", "list", *words, "--json").json]
    assert {"who_whoami", "getInventory"} <= set(names)
    called = typed("tool", "call", "getInventory", *words, "--credential", "shop.api_key=@STORE_KEY", "--json")
    assert called.json[0]["id"] == 7
    near = typed("tool", "list", "--openapi", "shpo")
    assert (near.code, "Did you mean shop" in near.err) == (2, True)


def test_a_section_that_is_gone_is_a_sentence(typed, store, tmp_path):
    (tmp_path / "own.toml").write_text(f'[openapi.shop]\ndocument = "{store.url}/openapi.json"\nprivate = true\n')
    typed.set(TREADLE_CONFIG=str(tmp_path / "own.toml"))
    typed("tool", "call", "shop_addPet", "--openapi", "shop")
    (info,) = typed("runs", "--json").json
    (tmp_path / "own.toml").write_text("")
    ran = typed("resume", info["run_id"])
    assert (ran.code, "There is no section [openapi.shop]" in ran.err) == (2, True)


def test_tools_of_a_document_are_shown_one_by_one(typed, store):
    words = ("--openapi", f"{store.url}/openapi.json")
    shown = typed("tool", "show", "findPetsByStatus", *words)
    assert "findPetsByStatus: read, of openapi.127-0-0-1" in shown.out
    assert "available | sold" in shown.out
    assert typed("tool", "show", "addPet", *words, "--json").json["effect"] == "write"
    near = typed("tool", "show", "addPets", *words)
    assert (near.code, near.out, "Did you mean addPet?" in near.err) == (2, "", True)


def test_the_sources_are_served_over_mcp(home, store):
    words = ("mcp", "--openapi", f"{store.url}/openapi.json", "--credential", "api_key=@STORE_KEY")
    program, *arguments = launched("-m", "treadle.cli.main", *words)
    server = StdioServerParameters(command=program, args=arguments, env=environment(home, STORE_KEY=KEY), cwd=home)

    async def work():
        async with Client(server) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            return names, await client.call_tool("getInventory", {})

    names, result = asyncio.run(work())
    assert names >= {"getInventory", "addPet"}
    assert result.structured_content == {"result": [{"id": 7, "name": "Rex knows [redacted:known]"}]}


def test_an_mcp_server_at_a_url_gets_its_credential_as_a_header(home, monkeypatch, capsys):
    pipe = subprocess.PIPE
    serving = opened("mcp", "--tools", TOOLBOX, "--http", "0", stdout=pipe, stderr=pipe, text=True, env=environment(home))
    try:
        url = serving.stderr.readline().strip()
        assert serving.stderr.readline()
        typed = InProcess(home, monkeypatch, capsys)
        typed.set(SERVER_TOKEN=(home / "data" / "server.token").read_text().strip())
        words = ("tool", "call", "stock", "--arguments", '{"item": "A"}', "--mcp", url, "--yes", "--json")
        assert typed(*words, "--credential", "bearer=@SERVER_TOKEN").json == 40
        refused = typed(*words)
        assert (refused.code, refused.out) == (2, "")
    finally:
        serving.kill()
        serving.communicate()
