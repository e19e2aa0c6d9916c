"""Every spelling of a path that might lead out of a folder, or to what isn't shown, through every face that takes one."""

import os
from pathlib import Path

import pytest

from security.faces import FACES, INSIDE, SECRET, get
from treadle.files import Workspace, WorkspaceProblem

OUT = [
    "../outside/secret.py",
    "./../outside/secret.py",
    "src/../../outside/secret.py",
    "src/./.././../outside//secret.py",
    "src/a.py/../../../outside/secret.py",
    "../work/../outside/secret.py",
    "{outside}/secret.py",
    "/{outside}/secret.py",
    "//{outside}/secret.py",
    "{work}/../outside/secret.py",
    "{work}-other/secret.py",
    "../work-other/secret.py",
    "/proc/self/root{outside}/secret.py",
    "/proc/self/cwd/../outside/secret.py",
    "/proc/thread-self/root{outside}/secret.py",
    "/dev/fd/../../{outside}/secret.py",
    "to-folder/secret.py",
    "to-folder-absolute/secret.py",
    "to-file.py",
    "to-file-absolute.py",
    "chain/secret.py",
    "up/outside/secret.py",
    "src/up/../outside/secret.py",
    "src/../up/outside/./secret.py",
    "to-root{outside}/secret.py",
    "magic{outside}/secret.py",
    "magic-cwd/../outside/secret.py",
    "src/deep/../../../outside/secret.py",
    "src/deep/link/../../../outside/secret.py",
    "..\\outside\\secret.py",
    "..//outside//secret.py",
    "....//outside/secret.py",
    "..;/outside/secret.py",
    "%2e%2e/outside/secret.py",
    "..%2foutside%2fsecret.py",
    "%252e%252e%252foutside%252fsecret.py",
    "..%c0%afoutside/secret.py",
    "\uff0e\uff0e/outside/secret.py",
    "\u2024\u2024/outside/secret.py",
    "..\u2215outside\u2215secret.py",
    "file://{outside}/secret.py",
    "~/../{outside}/secret.py",
    "$PWD/../outside/secret.py",
    "../outside/secret.py\0",
    "src/a.py\0/../../../outside/secret.py",
    "../outside/secret.py\n",
    "\n../outside/secret.py",
    " ../outside/secret.py",
    "\u202e../outside/secret.py",
    "\udcff/../../outside/secret.py",
    "a/" * 3000 + "../" * 3001 + "outside/secret.py",
]
SECRETS = [
    ".env",
    "./src/../.env",
    ".ENV",
    ".Env.Local",
    "src/.env.production",
    "{work}/.env",
    ".git/config",
    ".GIT/config",
    "src/../.git/./config",
    "id_rsa",
    "server.pem",
    ".aws/credentials",
    ".npmrc",
    "harmless.py",
    "src/harmless.py",
    "git/config",
]


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder full of ways out, and of secrets."""
    place = tmp_path_factory.mktemp("paths").resolve()
    work, outside = place / "work", place / "outside"
    for folder in (work / "src" / "deep", work / ".git", work / ".GIT", work / ".aws", outside, place / "work-other"):
        folder.mkdir(parents=True)
    (work / "src" / "a.py").write_text(INSIDE)
    (outside / "secret.py").write_text(SECRET)
    (place / "work-other" / "secret.py").write_text(SECRET)
    links = {
        "to-folder": "../outside",
        "to-folder-absolute": outside,
        "to-file.py": "../outside/secret.py",
        "to-file-absolute.py": outside / "secret.py",
        "chain": "src/next",
        "src/next": "../to-folder",
        "up": "..",
        "src/up": "..",
        "to-root": "/",
        "magic": "/proc/self/root",
        "magic-cwd": "/proc/self/cwd",
        "src/deep/link": "..",
        "harmless.py": ".env",
        "src/harmless.py": "../.env",
        "git": ".git",
    }
    for name, target in links.items():
        (work / name).symlink_to(target)
    hidden = (".env", ".ENV", ".Env.Local", "src/.env.production", ".git/config", ".GIT/config", "id_rsa", "server.pem")
    for name in (*hidden, ".aws/credentials", ".npmrc"):
        (work / name).write_text(SECRET)
    return work


@pytest.fixture(autouse=True)
def in_folder(work, monkeypatch):
    monkeypatch.chdir(work)
    monkeypatch.setenv("TREADLE_HOME", str(work.parent / "data"))


@pytest.mark.parametrize("face", FACES)
def test_a_file_in_the_folder_is_read(work, face):
    for path in ("src/a.py", "./src/../src//a.py", f"{work}/src/a.py"):
        assert INSIDE in FACES[face](work, path)


@pytest.mark.parametrize("path", OUT, ids=range(len(OUT)))
@pytest.mark.parametrize("face", FACES)
def test_no_path_leads_out(work, face, path):
    said = FACES[face](work, path.format(outside=work.parent / "outside", work=work))
    assert SECRET not in said
    assert said.startswith("problem: ")


@pytest.mark.parametrize("path", SECRETS)
@pytest.mark.parametrize("face", FACES)
def test_no_secret_is_shown(work, face, path):
    said = FACES[face](work, path.format(work=work))
    assert SECRET not in said
    assert said.startswith("problem: ")


@pytest.mark.parametrize("path", ["..%2Foutside%2Fsecret.py", "%2e%2e/outside/secret.py", "src%2Fa.py%00", "%00", "to-file.py%0A"])
def test_a_query_string_is_decoded_once(work, path):
    for twice in (path, path.replace("%", "%25")):
        answer = get(work, f"/api/reading/file?path={twice}")[0]
        assert answer.status_code == 400
        assert SECRET not in answer.text


@pytest.mark.parametrize("path", OUT, ids=range(len(OUT)))
def test_nothing_outside_is_written_removed_or_listed(work, path):
    path = path.format(outside=work.parent / "outside", work=work)
    before = sorted(work.parent.rglob("*"))
    for links in (True, False):
        workspace = Workspace(work, links=links)
        for attempt in (
            lambda workspace=workspace: workspace.remove(path),
            lambda workspace=workspace: workspace.listing(os.path.dirname(path)) if "outside" in path else [],  # noqa: PTH120
            lambda workspace=workspace: list(workspace.files(path)),
        ):
            try:
                found = attempt()
            except WorkspaceProblem:
                continue
            assert not [each for each in found or () if "secret" in str(each)]
    inside = [each for each in sorted(work.parent.rglob("*")) if not each.is_relative_to(work)]
    assert inside == [each for each in before if not each.is_relative_to(work)]
    assert (work.parent / "outside" / "secret.py").read_text() == SECRET


def test_a_listing_names_nothing_that_is_hidden_or_outside(work):
    listed = get(work, "/api/reading/files")[0].json()["files"]
    assert listed == ["src/a.py"]


def test_a_hard_link_is_not_written_through(work, tmp_path):
    (tmp_path / "kept.txt").write_text("kept")
    os.link(tmp_path / "kept.txt", work / "hard.txt")
    Workspace(work).write_bytes("hard.txt", b"changed")
    assert ((tmp_path / "kept.txt").read_text(), (work / "hard.txt").read_text()) == ("kept", "changed")
    (work / "hard.txt").unlink()


FOLDERS = ["/", "/etc", "/usr/lib", "/proc/self/root/etc", "~", "~/.ssh", "~/.config", "~/.config/systemd", "{data}", "{data}/jobs"]


@pytest.mark.parametrize("face", ["read_file", "refer_to_source_code", "reading route"])
@pytest.mark.parametrize("folder", FOLDERS)
def test_no_tool_works_where_a_workspace_is_never(folder, face, tmp_path, monkeypatch):
    for name in ("ann/.ssh", "ann/.config/systemd", "data/jobs", "served"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "ann"))
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "data"))
    named = Path(folder.format(data=tmp_path / "data")).expanduser()
    monkeypatch.chdir(named)  # where a server is started
    said = FACES[face](tmp_path / "served" if face == "reading route" else named, "x.py")
    assert "Name a project's own folder." in said
