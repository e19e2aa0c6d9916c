"""How a commit is made."""

import os
import subprocess

import pytest

from treadle.toolsets.git.commit import END, STAGED, TREADLE, Identity, add_co_author


@pytest.mark.parametrize(("sent", "commits"), [("Fix it\n" + END, "Fix it"), ("Fix i", ""), ("", "")])
def test_a_message_that_was_cut_off_commits_nothing(tmp_path, sent, commits):
    """Whoever was to send it was killed."""

    def git(*words):
        return subprocess.run(["git", *words], cwd=tmp_path, capture_output=True, text=True, check=False).stdout.strip()

    git("init", "-q", "-b", "main")
    (tmp_path / "a").write_text("a")
    git("add", "a")
    env = {**os.environ, **TREADLE.variables()}
    subprocess.run(["sh", "-c", STAGED, "sh", "", "refs/heads/main", ""], cwd=tmp_path, env=env, input=sent, text=True, check=False)
    assert git("log", "--format=%s") == commits


def test_the_co_author_joins_the_trailers_of_a_message_and_is_named_once():
    ada, line = Identity("Ada", "ada@example.org"), "Co-authored-by: Treadle <treadle@localhost>"
    assert add_co_author("Add b", ada) == f"Add b\n\n{line}"
    assert add_co_author("Add b\n\nCloses: #3", ada) == f"Add b\n\nCloses: #3\n{line}"
    assert add_co_author(f"Add b\n\n{line}", ada) == f"Add b\n\n{line}"
    assert add_co_author("Add b", TREADLE) == "Add b"
