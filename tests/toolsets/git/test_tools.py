"""The tools of a repository, as a run calls them, on real repositories."""

import asyncio
import os
import subprocess

import pytest

from treadle import Agent, allow
from treadle.core.errors import ToolProblem
from treadle.models.calling.flat_tools import flatten_tools
from treadle.models.scripted import calls
from treadle.testing import Scripted
from treadle.toolsets.git.commit import Identity
from treadle.toolsets.git.sandboxed import GitFailed, GitRefused, NoGit, NoRepository, SandboxedGit
from treadle.toolsets.git.tools import git_tools

# The tools


def test_a_commit_can_be_checked_and_everything_else_repeated(tmp_path):
    (tool,) = git_tools(tmp_path).tools()
    assert (tool.name, tool.effect, tool.retry, tool.sequential) == ("git", "write", "checkable", True)
    flat = {tool.name: (tool.effect, tool.retry) for tool in git_tools(tmp_path, flat=True).tools()}
    assert flat == {
        "git_status": ("read", "read"),
        "git_diff": ("read", "read"),
        "git_log": ("read", "read"),
        "git_add": ("write", "idempotent"),
        "git_commit": ("write", "checkable"),
        "git_create_branch": ("write", "idempotent"),
        "git_checkout": ("write", "idempotent"),
        "git_push": ("write", "idempotent"),
        "create_pr": ("write", "idempotent"),
    }


def test_looking_at_a_repository_reads_and_everything_else_writes(tmp_path):
    (tool,) = git_tools(tmp_path).tools()
    assert {action for action, effect in tool.effects.items() if effect == "read"} == {"status", "diff", "log", "branch"}
    assert set(tool.effects.values()) == {"read", "write"}


def test_what_leaves_the_machine_says_so(tmp_path):
    told = {tool.name: tool.spec.description for tool in git_tools(tmp_path, flat=True).tools()}
    assert {name for name, words in told.items() if "leaves the machine" in words} == {"git_push", "create_pr"}


def test_the_grouped_tool_can_be_offered_by_its_actions(tmp_path):
    names = [spec.name for spec, _ in flatten_tools([tool.spec for tool in git_tools(tmp_path).tools()])]
    assert names[:5] == ["git_status", "git_diff", "git_log", "git_branch", "git_add"]


def test_an_agent_branches_commits_and_pushes_with_flat_tools(room, remote):
    room.git("switch", "-q", "main")
    room.put("new.py", "print(1)\n")
    steps = [
        calls(("git_create_branch", {"branch": "feature"})),
        calls(("git_add", {"files": ["new.py"]})),
        calls(("git_commit", {"message": "Add new.py"}), ("git_status", {}), ("git_diff", {"base": "main"}), ("git_log", {})),
        calls(("git_push", {}), ("create_pr", {"title": "New", "body": "Adds it."}), ("git_checkout", {"branch": "main"})),
        "Done.",
    ]
    agent = Agent(Scripted(*steps), toolsets=[git_tools(room.folder, flat=True)], policy=[allow("*")])
    result = agent.run_sync("Go.")
    assert [call.result.problem for call in result.calls] == [None] * 9, [call.result.content for call in result.calls]
    told = [call.result.content for call in result.calls]
    assert told[0] == "On the new branch treadle/feature. What isn't committed came along."
    assert told[2].startswith("Committed ")
    assert "+print(1)" in told[4]
    assert "Ada Person: Add new.py" in told[5]
    assert told[8] == "On branch main."
    pushed = subprocess.run(
        ["git", "log", "--format=%an %s", "treadle/feature"], cwd=remote, capture_output=True, text=True, check=True
    )
    assert pushed.stdout == "Ada Person Add new.py\nAda Person first\n"


@pytest.mark.parametrize(
    ("action", "missing"),
    [("commit", "message"), ("add", "files"), ("create_pr", "title"), ("checkout", "branch"), ("create_branch", "branch")],
)
def test_an_argument_that_an_action_needs_is_asked_for(action, missing, room):
    with pytest.raises(GitRefused, match=f"The action {action} needs the argument {missing}"):
        room.call(action)


# Looking


def test_the_status_tells_the_branch_and_what_is_changed(room):
    assert room.call("status").splitlines()[1] == "Nothing is changed."
    room.put("a.txt", "two\n")
    room.put("b.txt")
    room.put("c.txt")
    room.git("add", "b.txt")
    head = room.git("rev-parse", "--short=10", "HEAD")
    assert room.call("status") == (
        f"On branch treadle/work, at {head}.\nStaged:\n  b.txt (new)\nNot staged:\n  a.txt (changed)\nUntracked:\n  c.txt"
    )


def test_the_status_tells_how_far_the_remote_is_and_what_is_under_way(room):
    room.git("switch", "-q", "main")
    room.git("branch", "-q", "-u", "origin/main")
    room.git("commit", "-q", "--allow-empty", "-m", "second")
    (room.folder / ".git" / "MERGE_HEAD").write_text(room.git("rev-parse", "HEAD") + "\n")
    told = room.call("status")
    assert "; 1 ahead of and 0 behind origin/main." in told
    assert told.endswith("A merge is under way.")


def test_a_long_status_is_bounded(room):
    for number in range(70):
        room.put(f"{number:02}.txt")
    assert room.call("status").splitlines()[-2:] == ["  59.txt", "  [10 more]"]


def test_the_difference_is_what_is_not_committed(room):
    assert room.call("diff") == "There is no difference."
    room.put("a.txt", "two\n")
    room.put("b.txt", "staged\n")
    room.git("add", "b.txt")
    room.put("c.txt")
    told = room.call("diff")
    assert "-one\n+two\n" in told
    assert "+staged" in told
    assert told.endswith("[Not in the difference, because git doesn't track them yet: c.txt]")
    assert "staged" not in room.call("diff", files=["a.txt"])


def test_a_branch_is_compared_with_where_it_left_its_base(room):
    room.put("b.txt", "mine\n")
    room.git("add", "b.txt")
    room.git("commit", "-qm", "mine")
    room.git("switch", "-q", "main")
    room.put("theirs.txt", "theirs\n")
    room.git("add", "theirs.txt")
    room.git("commit", "-qm", "theirs")
    told = room.call("diff", base="main", branch="treadle/work")
    assert "+mine" in told
    assert "theirs" not in told
    assert room.call("diff", branch="treadle/work") == told


def test_a_long_difference_tells_its_files_and_how_much_is_left_out(room):
    room.put("a.txt", "".join(f"line {number}\n" for number in range(5000)))
    room.put("b.txt", "y" * 3000 + "\n")
    room.git("add", ".")
    told = room.call("diff")
    assert len(told) < 18_000
    assert told.startswith(" a.txt | 5001 ")
    left = 5013 - (told.count("\n+line") + 6)
    assert f"[{left} more lines of the difference. Give `files` to see those of some files only.]" in told
    assert room.call("diff", files=["b.txt"]).splitlines()[-1] == "+" + "y" * 499 + " […]"


def test_very_many_files_of_a_difference_are_counted(room):
    for number in range(300):
        room.put(f"folder/{number:03}.txt", "line\n" * 20)
    room.git("add", ".")
    told = room.call("diff")
    assert len(told) < 21_000
    assert " more files]\n 300 files changed, 6000 insertions(+)" in told


@pytest.mark.parametrize("name", ["nowhere", "--output=/tmp/x", "a b", "main..other", "-"])
def test_a_commit_that_is_not_there_is_a_problem(name, room):
    with pytest.raises(GitRefused, match=r"There is no branch or commit|names no commit"):
        room.call("diff", base=name)


def test_the_log_tells_commits_by_line_and_by_path(room):
    room.put("b.txt")
    room.git("add", "b.txt")
    room.git("commit", "-qm", "second")
    assert [line.split(": ")[1] for line in room.call("log").splitlines()] == ["second", "first"]
    assert room.call("log", max_count=1).endswith("Ada Person: second")
    assert room.call("log", path="a.txt").endswith("Ada Person: first")
    assert room.call("log", path="none.txt") == "No commit has changed none.txt."


def test_branches_are_listed(room):
    assert [line[:14] for line in room.call("branch").splitlines()] == [
        "  main " + room.git("rev-parse", "--short", "HEAD"),
        "* treadle/work",
    ]


# Staging


def test_named_files_are_staged_also_new_and_deleted_ones(room):
    room.put("b.txt")
    room.put("c.txt")
    (room.folder / "a.txt").unlink()
    assert room.call("add", files=["./b.txt", "a.txt", str(room.folder / "c.txt")]) == "Staged: b.txt, a.txt, c.txt."
    assert room.git("diff", "--cached", "--name-status").split() == ["D", "a.txt", "A", "b.txt", "A", "c.txt"]
    assert room.call("add", files=["a.txt"]) == "Staged: a.txt."  # again, though it is gone already


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (".", "it means everything"),
        ("./", "it means everything"),
        ("", "it means everything"),
        ("-A", "options are not taken"),
        ("--all", "options are not taken"),
        ("*", "options are not taken"),
        ("src/**/*.py", "options are not taken"),
        (":/", "options are not taken"),
        ("none.txt", "there is no such file"),
        ("a.txt", "nothing in it is changed"),
        ("../other.txt", "outside of the workspace"),
        ("/etc/passwd", "outside of the workspace"),
        (".git/config", "belongs to git itself"),
        ("ignored.log", "ignored by .gitignore"),
        ("build", "ignored by .gitignore"),
        ("build/out.o", "ignored by .gitignore"),
        (".env", "hold secrets"),
        ("keys/server.pem", "hold secrets"),
        ("id_rsa", "hold secrets"),
    ],
)
def test_a_file_that_is_not_staged_is_named_with_the_reason_and_the_others_are_staged(name, why, room):
    room.put(".gitignore", "*.log\nbuild/\n")
    for each in ("b.txt", "ignored.log", "build/out.o", ".env", "keys/server.pem", "id_rsa"):
        room.put(each)
    told = room.call("add", files=[name, "b.txt"]).splitlines()
    assert told[0] == "Staged: b.txt."
    assert len(told) == 2
    assert "was not staged: " in told[1]
    assert why in told[1]
    assert room.git("diff", "--cached", "--name-only") == "b.txt"


def test_where_nothing_can_be_staged_it_is_a_problem(room):
    room.put(".env")
    with pytest.raises(GitRefused, match=r"Nothing was staged\.\n\.env was not staged: files of this name hold secrets"):
        room.call("add", files=[".env"])
    with pytest.raises(GitRefused, match="Name the files that belong to your change"):
        room.call("add", files=[])


def test_a_small_folder_is_staged_without_its_secrets_and_a_large_one_is_listed_back(room):
    room.put("src/a.py")
    room.put("src/deep/b.py")
    room.put("src/.env")
    told = room.call("add", files=["src/"])
    assert told.splitlines()[0] == "Staged: src/a.py, src/deep/b.py."
    assert told.splitlines()[1].startswith("src/.env was not staged")
    for number in range(30):
        room.put(f"many/{number:02}.py")
    with pytest.raises(
        GitRefused, match=r"many was not staged: it is a folder with 30 changed files.*as of: many/00.py, many/01.py"
    ):
        room.call("add", files=["many"])


def test_a_file_with_a_token_in_it_is_refused_unless_it_was_there_before(room):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    room.put("settings.py", f"x = 1\nTOKEN = '{token}'\n")
    with pytest.raises(GitRefused, match=r"settings.py was not staged: line 2 has what looks like a secret \(github token\)"):
        room.call("add", files=["settings.py"])
    room.git("add", "settings.py")
    room.git("commit", "-qm", "the person wanted it")
    room.put("settings.py", f"y = 2\nTOKEN = '{token}'\n")
    assert room.call("add", files=["settings.py"]) == "Staged: settings.py."


def test_a_private_key_is_refused_and_examples_are_not(room):
    body = "MIIEpAIBAAKCAQEAq7dEr4kq9yqv8C1Yw0Jt3m5Z2cQpN6uRfGhTzXaLsVbWnOiK\n"
    room.put("tls.txt", f"-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\n")
    room.put("doc.md", "Use `AKIAIOSFODNN7EXAMPLE` or sk-proj-xxxxxxxxxxxxxxxxxxxxxxxx or a ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaa.\n")
    told = room.call("add", files=["tls.txt", "doc.md"]).splitlines()
    assert told[0] == "Staged: doc.md."
    assert "(private key)" in told[1]


NAMES = [
    "with space.txt",
    " lead",
    "trail ",
    'qu"ote.txt',
    "it's.txt",
    "ünïcode-日本.txt",
    "new\nline.txt",
    "-dash.txt",
    "tab\there",
    "back\\slash",
    ":colon",
    "[a]*",
]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_a_file_can_have_is_staged_committed_and_shown_on_one_line(name, room):
    room.put(name, "content\n")
    told = room.call("add", files=[name])
    assert told.count("\n") == 0
    assert room.call("status").count("\n") == 2
    room.call("commit", message="add it")
    listed = subprocess.run(
        ["git", "ls-tree", "-z", "--name-only", "HEAD"], cwd=room.folder, capture_output=True, check=True
    ).stdout
    assert name.encode() in listed.split(b"\0")
    room.put(name, "other\n")
    assert "+other" in room.call("diff", files=[name])


def test_a_name_that_is_no_text_is_staged_by_its_folder(room):
    room.put("odd/a.txt")
    (room.folder / "odd" / os.fsdecode(b"caf\xe9.txt")).write_text("x\n")
    assert room.call("add", files=["odd"]) == "Staged: odd/a.txt, 'odd/caf\\udce9.txt'."
    room.call("commit", message="x")
    assert room.git("ls-files", "odd") == 'odd/a.txt\n"odd/caf\\351.txt"'


def test_a_link_is_staged_as_a_link_and_a_path_beyond_one_is_not(room, tmp_path):
    (tmp_path / "outside.txt").write_text("outside")
    (room.folder / "link").symlink_to(tmp_path / "outside.txt")
    (room.folder / "away").symlink_to(tmp_path)
    assert room.call("add", files=["link"]) == "Staged: link."
    with pytest.raises((GitRefused, GitFailed)):
        room.call("add", files=["away/outside.txt"])
    assert room.git("ls-files", "-s", "link").startswith("120000 ")
    assert room.git("diff", "--cached", "--name-only") == "link"


def test_a_repository_in_the_repository_is_not_staged(room):
    room.put("lib/x.txt")
    subprocess.run("git init -q && git add . && git commit -qm x", shell=True, cwd=room.folder / "lib", check=True)
    with pytest.raises(GitRefused, match="it is a repository of its own"):
        room.call("add", files=["lib"])


def test_a_file_of_git_lfs_is_not_staged_raw(room):
    room.put(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    room.put("big.bin")
    with pytest.raises(GitRefused, match=r"big.bin was not staged: it is kept by the program lfs, which isn't set up here"):
        room.call("add", files=["big.bin"])


def test_a_tracked_file_in_an_ignored_folder_is_staged(room):
    room.put("build/kept.txt")
    room.git("add", "build/kept.txt")
    room.git("commit", "-qm", "kept")
    room.put(".gitignore", "build/\n")
    room.put("build/kept.txt", "other\n")
    assert room.call("add", files=["build/kept.txt"]) == "Staged: build/kept.txt."


# Committing


def test_a_commit_is_told_with_its_files(room):
    room.put("b.txt", "1\n2\n")
    room.call("add", files=["b.txt"])
    told = room.call("commit", message="Add b\n\nBecause of c.\n").splitlines()
    assert told[0] == f"Committed {room.git('rev-parse', '--short=10', 'HEAD')}: Add b"
    assert told[1:] == [" b.txt | 2 ++", " 1 file changed, 2 insertions(+)"]
    assert room.git("log", "-1", "--format=%B") == ("Add b\n\nBecause of c.\n\nCo-authored-by: Treadle <treadle@localhost>")
    assert room.git("status", "--porcelain") == ""
    assert room.git("reflog", "-1", "--format=%gs") == "commit: by treadle"


def test_a_commit_of_very_many_files_is_told_in_short(room):
    for number in range(60):
        room.put(f"f/{number:02}.txt")
    room.git("add", "f")
    told = room.call("commit", message="many").splitlines()
    assert len(told) == 42
    assert told[-2:] == [" [21 more files]", " 60 files changed, 60 insertions(+)"]


def test_who_commits_is_the_person_or_who_is_named_or_treadle(room, person):
    authors = []
    for number, identity in enumerate([None, Identity("Bot <x>", "bot@example.org"), None]):
        if number == 2:
            (person / ".gitconfig").unlink()
        room.put("b.txt", f"{number}\n")
        room.git("add", "b.txt")
        room.with_(identity=identity).call("commit", key=f"run:{number}", message="x")
        authors.append(room.git("log", "-1", "--format=%an %ae %cn %ce"))
    ada, bot, treadle = "Ada Person ada@example.org", "Bot x bot@example.org", "Treadle treadle@localhost"
    assert authors == [f"{who} {who}" for who in (ada, bot, treadle)]


def test_nothing_staged_is_a_problem_that_says_what_is_changed(room):
    with pytest.raises(GitRefused, match=r"Nothing is staged, so nothing was committed\. There are no changes either"):
        room.call("commit", message="x")
    room.put("a.txt", "two\n")
    with pytest.raises(GitRefused, match=r"Add the files of your change first; changed are: a.txt"):
        room.call("commit", message="x")
    assert room.subjects() == ["first"]


@pytest.mark.parametrize("message", ["", "  \n", "\0"])
def test_a_commit_needs_a_message(message, room):
    room.put("b.txt")
    room.call("add", files=["b.txt"])
    with pytest.raises(GitRefused, match="needs a message"):
        room.call("commit", message=message)


def test_a_secret_that_was_staged_otherwise_is_not_committed(room):
    room.put(".env")
    room.git("add", ".env")
    with pytest.raises(GitRefused, match=r"\.env is staged and may hold secrets"):
        room.call("commit", message="x")


@pytest.mark.parametrize("what", ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge"])
def test_nothing_is_committed_while_something_is_under_way(what, room):
    room.put("b.txt")
    room.call("add", files=["b.txt"])
    (room.folder / ".git" / what).write_text(room.git("rev-parse", "HEAD") + "\n")
    with pytest.raises(GitRefused, match=r"is under way in the repository.*finish or abort"):
        room.call("commit", message="x")


def test_a_conflict_is_not_committed(room):
    room.put("a.txt", "mine\n")
    room.git("commit", "-qam", "mine")
    room.git("switch", "-q", "main")
    room.put("a.txt", "theirs\n")
    room.git("commit", "-qam", "theirs")
    room.git("switch", "-q", "treadle/work")
    room.git("merge", "main", check=False)
    assert "In conflict:\n  a.txt" in room.call("status")
    with pytest.raises(GitRefused, match="A merge is under way"):
        room.call("commit", message="x")


def test_a_protected_branch_is_neither_committed_on_nor_pushed_nor_created(room):
    room.git("switch", "-q", "main")
    room.put("b.txt")
    room.call("add", files=["b.txt"])
    for action, arguments in [
        ("commit", {"message": "x"}),
        ("push", {}),
        ("push", {"branch": "main"}),
        ("create_pr", {"title": "x"}),
    ]:
        with pytest.raises(GitRefused, match=r"The branch main is protected: .* Create a branch first"):
            room.call(action, **arguments)
    with pytest.raises(GitRefused, match="protected"):
        room.with_(prefix="").call("create_branch", branch="main")
    room.with_(protected=("release",)).call("commit", message="on main")
    assert room.subjects() == ["on main", "first"]


def test_the_first_commit_is_made_on_a_branch_without_any(empty):
    empty.put("a.txt")
    assert empty.call("status").splitlines()[0] == "On branch main, without a commit yet."
    assert empty.call("log") == "There is no commit yet."
    assert empty.call("branch").startswith("There are no branches yet")
    empty.call("create_branch", branch="start")
    empty.call("add", files=["a.txt"])
    assert "+x" in empty.call("diff")
    told = empty.call("commit", key="run:1", message="begin")
    assert empty.git("log", "--format=%s %D") == "begin HEAD -> treadle/start"
    assert empty.reconcile("commit", key="run:1", message="begin") == told


def test_a_commit_without_a_branch_moves_only_the_head(room):
    room.git("switch", "-q", "--detach")
    before = room.git("rev-parse", "treadle/work")
    room.put("b.txt")
    room.call("add", files=["b.txt"])
    room.call("commit", message="loose")
    assert room.subjects() == ["loose", "first"]
    assert room.git("rev-parse", "treadle/work") == before
    assert room.call("status").startswith("On no branch, at ")
    with pytest.raises(GitRefused, match="No branch is checked out"):
        room.call("push")


# Once


def staged(room):
    room.put("b.txt")
    room.call("add", files=["b.txt"])


def test_a_call_that_was_repeated_commits_once_and_gives_the_same_result(room):
    staged(room)
    told = room.call("commit", key="run:call/1", message="once")
    assert room.reconcile("commit", key="run:call/1", message="once") == told
    room.put("c.txt")
    room.call("add", files=["c.txt"])
    assert room.call("commit", key="run:call/1", message="once") == told
    assert room.subjects() == ["once", "first"]


def test_a_call_that_did_not_happen_is_known_not_to_have(room):
    staged(room)
    assert room.reconcile("commit", key="run:1", message="x") is None
    assert room.reconcile("push", key="run:1") is None
    room.call("commit", key="run:2", message="another call")
    assert room.reconcile("commit", key="run:1", message="x") is None


def test_keys_that_look_alike_are_different_calls(room):
    staged(room)
    room.call("commit", key="a:b", message="x")
    assert room.reconcile("commit", key="a-b", message="x") is None
    assert room.reconcile("commit", key="", message="x") is None


def test_a_commit_whose_process_died_before_the_branch_moved_is_put_in_its_place(room):
    staged(room)
    before = room.git("rev-parse", "HEAD")
    told = room.call("commit", key="run:1", message="once")
    room.git("update-ref", "refs/heads/treadle/work", before)  # as it was between the two
    assert room.subjects() == ["first"]
    assert room.reconcile("commit", key="run:1", message="once") == told
    assert room.subjects() == ["once", "first"]


def test_a_first_commit_whose_process_died_is_put_in_its_place_too(empty):
    empty.git("switch", "-q", "-c", "treadle/x")
    staged(empty)
    empty.call("commit", key="run:1", message="once")
    empty.git("update-ref", "-d", "refs/heads/treadle/x")
    assert empty.reconcile("commit", key="run:1", message="once").startswith("Committed ")
    assert empty.subjects() == ["once"]


def test_a_commit_that_no_longer_fits_is_not_guessed_at(room):
    staged(room)
    room.call("commit", key="run:1", message="once")
    room.git("switch", "-q", "main")
    room.git("commit", "-q", "--allow-empty", "-m", "elsewhere")
    with pytest.raises(GitFailed, match="was made, but isn't on this branch"):
        room.reconcile("commit", key="run:1", message="once")


def test_a_run_that_died_in_a_commit_goes_on_with_the_commit_it_made(room):
    """The flat tool's own way to find out, through a toolset."""
    from treadle import RunContext
    from treadle.core.calls import Call

    staged(room)
    toolset, call = git_tools(room.folder, flat=True), Call("1", "git_commit", {"message": "once"})
    told = asyncio.run(toolset.call(call, RunContext(key="run:1")))
    assert asyncio.run(toolset.reconcile(call, RunContext(key="run:1"))) == told
    assert asyncio.run(toolset.reconcile(call, RunContext(key="run:2"))) is None


def test_a_commit_whose_branch_is_held_by_another_leaves_nothing(room):
    staged(room)
    (room.folder / ".git" / "refs" / "heads" / "treadle" / "work.lock").touch()
    with pytest.raises(GitFailed, match=r"git commit failed: .*work\.lock"):
        room.call("commit", key="run:1", message="x")
    assert room.git("for-each-ref", "refs/treadle") == ""
    assert room.reconcile("commit", key="run:1", message="x") is None


# Branches


def test_a_branch_is_created_once_and_keeps_what_is_not_committed(room):
    room.put("a.txt", "two\n")
    room.call("create_branch", branch="fix")
    assert room.git("branch", "--show-current") == "treadle/fix"
    assert (room.folder / "a.txt").read_text() == "two\n"
    assert "treadle/fix" in room.call("create_branch", branch="treadle/fix")
    room.git("switch", "-q", "main")
    assert "treadle/fix" in room.call("create_branch", branch="fix")  # died before it was switched to
    room.git("commit", "-qam", "more")
    room.git("switch", "-q", "main")
    with pytest.raises(GitRefused, match="There is a branch treadle/fix already, with other commits"):
        room.call("create_branch", branch="fix")


@pytest.mark.parametrize("name", ["a b", "-x", "a..b", "a.lock", "/a", "a/", "a~1", "a\nb", "@", "x@{1}", ".hidden", "a//b"])
def test_a_name_git_would_not_take_is_a_problem(name, room):
    for action in ("create_branch", "checkout", "push"):
        with pytest.raises(GitRefused, match="can't be the name of a branch"):
            room.call(action, branch=name)


def test_a_branch_is_switched_to_by_its_short_name_or_from_the_remote(room, remote):
    room.git("switch", "-q", "main")
    assert room.call("checkout", branch="work") == "On branch treadle/work."
    assert room.call("checkout", branch="treadle/work") == "On branch treadle/work."
    room.git("push", "-q", "origin", "main:theirs")
    room.git("fetch", "-q")
    assert room.call("checkout", branch="theirs") == "On branch theirs."
    with pytest.raises(GitRefused, match=r"There is no branch nowhere\. List the branches"):
        room.call("checkout", branch="nowhere")


def test_changes_that_would_be_lost_are_not(room):
    room.put("a.txt", "theirs\n")
    room.git("commit", "-qam", "theirs")
    room.git("switch", "-q", "main")
    room.put("a.txt", "mine\n")
    with pytest.raises(GitFailed, match=r"git switch failed: .*would be overwritten[\s\S]*Commit what is changed first"):
        room.call("checkout", branch="treadle/work")
    assert (room.folder / "a.txt").read_text() == "mine\n"


# Where there is no repository


def test_a_folder_without_a_repository_is_a_problem(at, folder):
    for action, arguments in [("status", {}), ("add", {"files": ["."]}), ("commit", {"message": "x"}), ("push", {})]:
        for where in (folder, folder / "gone"):
            with pytest.raises(NoRepository, match="is no git repository"):
                at(where).call(action, **arguments)


def test_a_folder_in_a_repository_is_told_which_one_it_belongs_to(room):
    (room.folder / "sub").mkdir()
    with pytest.raises(
        NoRepository, match=rf"is only a part of the repository {room.folder}, .* name {room.folder} as the workspace"
    ):
        asyncio.run(SandboxedGit(room.folder / "sub").read("status"))


def test_a_worktree_whose_repository_lies_elsewhere_is_a_problem(room, tmp_path):
    room.git("worktree", "add", "-q", str(tmp_path / "tree"), "main")
    with pytest.raises(NoRepository, match="lies elsewhere"):
        asyncio.run(SandboxedGit(tmp_path / "tree").read("status"))


def test_without_git_it_is_a_problem(room):
    with pytest.raises(NoGit, match="Git isn't installed where commands run"):
        asyncio.run(SandboxedGit(room.folder, env={"PATH": "/nowhere"}).read("status"))


def test_without_a_sandbox_git_does_not_run_unless_that_is_asked_for(room, tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_BWRAP", str(tmp_path / "none"))
    with pytest.raises(NoGit, match="Git was not run: TREADLE_BWRAP"):
        room.call("status")
    staged = room.with_(unsafe=True)
    staged.put("b.txt")
    staged.call("add", files=["b.txt"])
    staged.call("commit", message="unsafe")
    assert room.subjects() == ["unsafe", "first"]


def test_what_git_says_is_passed_on(room):
    (room.folder / ".git" / "index").write_bytes(b"broken")
    with pytest.raises(ToolProblem, match=r"git status failed: .*index file"):
        room.call("status")


def test_a_lock_that_was_left_is_explained(room):
    room.put("b.txt")
    (room.folder / ".git" / "index.lock").touch()
    with pytest.raises(GitFailed, match=r"left its lock file in \.git"):
        room.call("add", files=["b.txt"])
