"""`treadle platform …`, as it is typed."""

import json
import signal

import pytest

from assistants.platform.platform_setup import SPEC, told
from cli.running import Terminal, asks, script, start, treadle

SHOWN = f"Here it is:\n\n```yaml\n{SPEC}```\n"


@pytest.fixture
def home(tmp_path):
    return tmp_path


@pytest.fixture
def alice(demo):
    return {"TREADLE_PLATFORM_SERVER": demo.url, "TREADLE_PLATFORM_TOKEN": demo.token("alice"), "NO_COLOR": "1"}


def test_a_question_is_answered_with_what_is_on_the_platform(home, alice):
    model = script(home, asks(("list_applications", {})), "Three.")
    ran = treadle(home, "platform", "ask", "What", "applications?", "-m", model, **alice)
    assert (ran.code, ran.out) == (0, "Three.\n")
    assert '"name":"checkout"' in ran.err
    (kept,) = treadle(home, "runs", "--json").json
    assert (kept["user"], kept["agent"]) == ("alice", "platform")


def test_a_question_may_come_on_stdin_and_must_say_something(home, alice):
    assert treadle(home, "platform", "ask", "-", "-m", script(home, "Yes."), stdin="Is it?\n", **alice).out == "Yes.\n"
    ran = treadle(home, "platform", "ask", "-", "-m", script(home, "Yes."), stdin=" \n", **alice)
    assert (ran.code, "The prompt is empty" in ran.err) == (2, True)


def test_what_waits_is_approved_and_resumed_by_the_usual_commands(home, alice, demo):
    model = script(home, asks(("delete_application", {"app_name": "checkout"})), "Gone.")
    waiting = treadle(home, "platform", "ask", "Delete checkout", "-m", model, **alice)
    assert waiting.code == 3
    assert "checkout would be deleted from" in waiting.err
    assert "- ledger (postgres" in waiting.err
    (run,) = treadle(home, "runs", "--json").json
    (call,) = treadle(home, "approve", run["run_id"], "--list", "--json").json
    assert treadle(home, "approve", run["run_id"], call["call_id"]).code == 0
    script(home, "Gone.")  # what is left of the script for the process that goes on
    done = treadle(home, "resume", run["run_id"], **alice)
    assert (done.code, done.out) == (0, "Gone.\n")
    other = treadle(
        home, "platform", "ask", "x", "-m", script(home, asks(("get_application", {"app_name": "checkout"})), "."), **alice
    )
    assert "There is no application" in other.err


def test_a_conversation_shows_checks_and_saves_specs(home, alice):
    lines = f"A spec\n/save {home}/a.yaml\n/save {home}/a.yaml\n/save\n/clear\n/save {home}/b.yaml\n/help\n/exit\n"
    warned = SHOWN.replace("nginx:1.27", "nginx")
    ran = treadle(home, "platform", "chat", "-m", script(home, warned), stdin=lines, **alice)
    assert ran.code == 0
    assert (home / "a.yaml").read_text() == SPEC.replace("nginx:1.27", "nginx")
    for words in (
        "as alice (shop, developer)",
        "The image has no tag",
        "is there already",
        "Say where: /save FILE",
        "A new conversation",
    ):
        assert words in ran.err, ran.err


def test_before_any_spec_there_is_nothing_to_save(home, alice):
    ran = treadle(home, "platform", "chat", "-m", script(home, "Hello."), stdin="hi\n/save x\n", **alice)
    assert "No spec has been shown yet." in ran.err


def test_without_a_token_it_says_how_to_sign_in(home, demo):
    env = {"TREADLE_PLATFORM_SERVER": demo.url}
    ran = treadle(home, "platform", "chat", "-m", script(home, asks(("list_applications", {})), "Sorry."), stdin="apps\n", **env)
    assert "without being signed in: set TREADLE_PLATFORM_TOKEN" in ran.err
    assert "No user is signed in to the platform" in ran.err


def test_without_a_platform_it_says_that_too(home):
    ran = treadle(
        home,
        "platform",
        "ask",
        "x",
        "-m",
        script(home, asks(("list_applications", {})), "Sorry."),
        TREADLE_PLATFORM_SERVER="http://127.0.0.1:9",
    )
    assert (ran.code, ran.out) == (0, "Sorry.\n")
    assert "can't be reached" in ran.err


def test_an_address_that_is_none_is_said_so(home):
    ran = treadle(home, "platform", "ask", "x", "--server", "localhost:8081")
    assert (ran.code, "is no address of a platform" in ran.err) == (2, True)


def test_documents_come_with_a_question_and_are_named_beneath_the_answer(home, alice):
    (home / "docs").mkdir()
    (home / "docs" / "quotas.md").write_text("# Quotas\n\nEvery team may have ten buckets.\n")
    (home / "own.toml").write_text(f'[assistants.platform]\ndocuments = ["{home}/docs", "{home}/none"]\n')
    env = {**alice, "TREADLE_CONFIG": str(home / "own.toml")}
    ran = treadle(home, "platform", "ask", "How many buckets may a team have?", "-m", script(home, "Ten."), **env)
    assert ran.out == "Ten.\n"
    for words in ("1 document was indexed.", "none isn't there.", "See: docs/quotas.md"):
        assert words in ran.err


def test_the_assistant_is_one_of_those_that_can_be_asked(home, alice):
    model = script(home, asks(("get_current_user", {})), "You are Alice.")
    ran = treadle(home, "ask", "-a", "platform", "Who am I?", "-m", model, **alice)
    assert (ran.code, ran.out) == (0, "You are Alice.\n")
    assert '"username":"alice"' in ran.err
    (kept,) = treadle(home, "runs", "--json").json
    assert (kept["user"], kept["agent"]) == ("alice", "platform")


def test_a_run_is_resumed_by_nobody_but_whose_it_is(home, alice, demo):
    model = script(home, asks(("delete_application", {"app_name": "checkout"})), "Gone.")
    assert treadle(home, "ask", "-a", "platform", "Delete checkout", "-m", model, **alice).code == 3
    (run,) = treadle(home, "runs", "--json").json
    (call,) = treadle(home, "approve", run["run_id"], "--list", "--json").json
    assert treadle(home, "approve", run["run_id"], call["call_id"]).code == 0
    script(home, "Gone.")
    other = treadle(home, "resume", run["run_id"], **{**alice, "TREADLE_PLATFORM_TOKEN": demo.token("admin")})
    assert (other.code, "belongs to alice, and you are admin: sign in as its owner" in other.err) == (2, True)
    assert treadle(home, "resume", run["run_id"], **alice).out == "Gone.\n"


def test_a_spec_is_written_to_stdout_or_into_a_file(home):
    told = f"{SHOWN}It runs nginx beside a database."
    ran = treadle(home, "platform", "generate", "a web app", "-m", script(home, told))
    assert (ran.code, ran.out) == (0, SPEC)
    assert "It runs nginx beside a database." in ran.err
    file = home / "a.yaml"
    assert treadle(home, "platform", "generate", "a web app", "-o", str(file), "-m", script(home, told)).code == 0
    assert file.read_text() == SPEC
    both = treadle(home, "platform", "generate", "x", "--json", "-o", "y", "-m", script(home, told))
    assert (both.code, "leave one of them out" in both.err) == (2, True)
    again = treadle(home, "platform", "generate", "a web app", "-o", str(file), "-m", "scripted:nothing")  # said before asking
    assert (again.code, "is there already" in again.err) == (2, True)
    assert treadle(home, "platform", "generate", "x", "-o", str(file), "--force", "-m", script(home, told)).code == 0
    nowhere = treadle(home, "platform", "generate", "x", "-o", f"{home}/no/a.yaml", "-m", script(home, told))
    assert (nowhere.code, "can't be written" in nowhere.err) == (2, True)


def test_a_spec_with_errors_is_shown_with_them(home):
    bad = SHOWN.replace("image: nginx:1.27", "port: 80")
    ran = treadle(home, "platform", "generate", "x", "--json", "-m", script(home, bad, bad, bad))
    assert ran.code == 1
    assert any(each["level"] == "error" for each in ran.json["findings"])


def test_specs_are_checked_by_line_without_any_server_or_model(home):
    (home / "good.yaml").write_text(SPEC)
    (home / "bad.yaml").write_text("metadata:\n  name: My App\ncontainers: {}\n")
    good = treadle(home, "platform", "validate", str(home / "good.yaml"))
    assert (good.code, good.out, good.err) == (0, "", f"{home}/good.yaml: can be deployed.\n")
    bad = treadle(home, "platform", "validate", "good.yaml", "bad.yaml", cwd=home)
    assert bad.code == 1
    assert "bad.yaml:2:9: error: metadata.name: " in bad.out
    assert "bad.yaml: would be refused.\n" in bad.err
    piped = treadle(home, "platform", "validate", "-", "--json", stdin=SPEC)
    assert (piped.code, piped.json) == (0, {"-": {"valid": True, "findings": []}})


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "There is no file"), (b"\xff\xfe\x00", "is no text"), (b"a" * 1_000_001, "files up to 1 MB are read")],
)
def test_a_file_that_cant_be_read_is_said_so(home, content, said):
    file = home / "a.yaml"
    if content is not None:
        file.write_bytes(content)
    ran = treadle(home, "platform", "validate", str(file))
    assert (ran.code, said in ran.err) == (2, True)


def test_the_demonstration_runs_until_it_is_interrupted_and_can_be_asked(home):
    process = start(home, "platform", "demo", "--port", "0")
    try:
        lines = []
        while not lines or "Ctrl-C" not in lines[-1]:
            lines.append(process.stdout.readline())
        url = lines[0].split()[-1]
        token = next(line.split("token ")[1].split()[0] for line in lines if line.strip().startswith("alice "))
        env = {"TREADLE_PLATFORM_SERVER": url, "TREADLE_PLATFORM_TOKEN": token}
        model = script(home, asks(("list_workflows", {"status": "failed"})), "One.")
        assert treadle(home, "platform", "ask", "failed?", "-m", model, **env).out == "One.\n"
    finally:
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert (process.returncode, said) == (0, "")


def test_at_a_terminal_the_person_sees_the_difference_and_says_no(home, alice, demo):
    model = script(home, asks(("deploy_application", {"spec_content": SPEC})), "As you like.")
    with Terminal(home, "platform", "ask", "Deploy", "-m", model, **alice) as terminal:
        shown = terminal.until("[e]dit:")
        assert "my-app would be a new application" in shown
        terminal.type("n not today\n")
        assert terminal.end() == 0
    assert "As you like." in terminal.shown


def test_a_token_that_the_model_repeats_is_masked_at_the_terminal_too(home, alice):
    token = alice["TREADLE_PLATFORM_TOKEN"]
    asked = asks(("get_application", {"app_name": token}))
    ran = treadle(home, "platform", "chat", "-m", script(home, asked, "Done."), stdin="what\n/save ~nobody-here/x\n", **alice)
    assert ran.code == 0
    assert token not in ran.out + ran.err
    assert token not in treadle(home, "audit", "--json", **alice).out


def test_a_spec_is_deployed_and_an_application_deleted_without_a_model(home, alice, demo):
    (home / "app.yaml").write_text(SPEC)
    deployed = treadle(home, "platform", "deploy", str(home / "app.yaml"), "--yes", **alice)
    assert deployed.code == 0, deployed.err
    assert deployed.json["message"] == "Deployed 'my-app'"
    deleted = treadle(home, "platform", "delete", "my-app", "--yes", **alice)
    assert "Deleted 'my-app'" in deleted.json["message"]


def test_a_workflow_is_retried_without_a_model_when_that_is_approved(home, alice, demo):
    waiting = treadle(home, "platform", "retry", "7", **alice)
    assert waiting.code == 3
    assert "Workflow 7 (deploy-app of demo-app)" in waiting.err
    (run,) = treadle(home, "runs", "--json").json
    (call,) = treadle(home, "approve", run["run_id"], "--list", "--json").json
    assert treadle(home, "approve", run["run_id"], call["call_id"]).code == 0
    assert treadle(home, "resume", run["run_id"], **alice).code == 0
    demo.settle()
    (again,) = told(demo, ("get_workflow", {"workflow_id": "9"}))
    assert json.loads(again)["parent_execution_id"] == 7


def test_a_golden_path_is_run_with_its_parameters(home, alice):
    (home / "app.yaml").write_text(SPEC)
    ran = treadle(home, "platform", "run", "ephemeral-env", str(home / "app.yaml"), "--param", "branch=main", "--yes", **alice)
    assert (ran.code, ran.json["golden_path"]) == (0, "ephemeral-env")
    unsaid = treadle(home, "platform", "run", "ephemeral-env", str(home / "app.yaml"), "--yes", **alice)
    assert (unsaid.code, "wants to know: branch" in unsaid.err) == (1, True)
    wrong = treadle(home, "platform", "run", "ephemeral-env", str(home / "app.yaml"), "--param", "branch", **alice)
    assert (wrong.code, "write it as NAME=VALUE" in wrong.err) == (2, True)


def test_what_a_role_may_not_do_is_said_so(home, alice):
    (home / "app.yaml").write_text(SPEC)
    ran = treadle(home, "platform", "deploy", str(home / "app.yaml"), "--yes", **alice, TREADLE_PLATFORM_DEPLOY_ROLES="admin")
    assert (ran.code, "doesn't have permission to use deploy_application" in ran.err) == (1, True)
