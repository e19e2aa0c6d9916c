"""Where a workspace may never be, decided by paths alone, and asked by every face that takes one."""

from pathlib import Path

import pytest

from treadle.core.errors import SettingsError
from treadle.files.workspace_folders import KEY_FOLDERS, NotAWorkspace, check_workspace, explain_workspace_refusal, workspace_at

KEPT, SETTLED = "where Treadle keeps its own data", "where settings of your programs are kept"
HOME, DATA = Path("/home/ann"), Path("/home/ann/.local/share/treadle")

REFUSED = [
    *[
        (path, "a folder of the system")
        for path in ("/", "/etc", "/etc/ssh", "/usr", "/usr/lib/python3", "/usr/src", "/var", "/var/lib/x")
    ],
    *[(path, "a folder of the system") for path in ("/proc", "/proc/self/root", "/dev/shm", "/run/user/1000", "/boot", "/sys")],
    *[(path, "a folder of the system") for path in ("/home", "/tmp", "/opt", "/root", "/srv", "/mnt", "/var/tmp", "/var/www")],
    *[(path, "a folder of the system") for path in ("/System/Library", "/private/etc", "/Library/Keychains")],
    ("/home/ann", "your home folder"),
    ("/home/bob", "a user's home folder"),
    ("/home/bob/.ssh", "where keys and passwords are kept"),
    ("/srv/backup/.gnupg/private-keys-v1.d", "where keys and passwords are kept"),
    *[(f"/home/ann/{key}", "where keys and passwords are kept") for key in (*KEY_FOLDERS, ".ssh/keys", ".SSH", ".config/gh/x")],
    *[
        (f"/home/ann/{name}", "where settings of your programs are kept")
        for name in (".config", ".config/systemd/user", ".local/bin")
    ],
    *[(f"/home/ann/{name}", KEPT) for name in (".local", ".local/share")],
    ("/home/ann/.cache", "a folder with much in it that is no project"),
    *[
        (f"{DATA}{name}", "where Treadle keeps its own data")
        for name in ("", "/jobs", "/jobs/job-1", "/jobs/job-1/checkpoints", "/samples", "/users", "/users/bob")
    ],
    (f"{DATA}/users/bob/jobs", "where Treadle keeps its own data"),
]
ALLOWED = [
    *(
        "/home/ann/projects/shop",
        "/home/ann/Downloads",
        "/home/ann/.dotfiles",
        "/home/ann/.local/share/chezmoi",
        "/home/bob/shared/shop",
    ),
    *(
        "/opt/shop",
        "/srv/www/shop",
        "/tmp/shop",
        "/usr/src/app",
        "/var/www/shop",
        "/workspace",
        "/builds/group/shop",
        "/run/media/ann/disk",
    ),
    *("/usr2/shop", "/etcetera", "/home/ann2/shop", "/private/var/folders/x1/y"),
    *(f"{DATA}/samples/cart", f"{DATA}/users/bob/workspace", f"{DATA}/users/bob/workspace/shop", f"{DATA}/users/bob/samples/cart"),
    f"{DATA}/letterbox",
    *(f"{DATA}/jobs/job-1/workspace", f"{DATA}/jobs/job-1/workspace/src", f"{DATA}/users/bob/jobs/job-1/workspace"),
]


@pytest.mark.parametrize(("folder", "why"), REFUSED)
def test_a_place_that_is_never_a_workspace_is_refused_in_one_sentence(folder, why):
    assert explain_workspace_refusal(Path(folder), [HOME], [DATA]) == (
        f"{folder} is {why}: a job there could change far more than a project. Name a project's own folder."
    )


@pytest.mark.parametrize("folder", ALLOWED)
def test_a_projects_own_folder_may_be_one(folder):
    assert explain_workspace_refusal(Path(folder), [HOME], [DATA]) == ""


def test_a_home_below_a_folder_of_the_system_has_projects_too():
    home = Path("/var/lib/jenkins")
    assert explain_workspace_refusal(home / "workspace" / "shop", [home], [DATA]) == ""
    assert "your home folder" in explain_workspace_refusal(home, [home], [DATA])
    assert "your home folder" in explain_workspace_refusal(Path("/root"), [Path("/root")], [DATA])


def test_links_and_spellings_are_followed_before_it_is_decided(tmp_path, monkeypatch):
    home = tmp_path / "ann"
    (home / ".ssh").mkdir(parents=True)
    (home / "shop").mkdir()
    (home / "link").symlink_to(home / ".ssh")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "data"))
    for named in ("~/link", "~/shop/../.ssh", f"{home}/shop/../link", "/proc/self/root/etc"):
        with pytest.raises(NotAWorkspace, match=r"where keys|folder of the system"):
            check_workspace(named)
    assert check_workspace("~/shop") == home / "shop"
    assert workspace_at("~/shop").folder == home / "shop"


@pytest.mark.parametrize("named", ["/no/such\0place", "~nobody-by-this-name/x"])
def test_what_no_folder_can_be_called_is_said_so(named):
    with pytest.raises(NotAWorkspace, match="There is no folder"):
        check_workspace(named)


def test_a_folder_that_is_not_there_is_no_workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "data"))
    with pytest.raises(SettingsError, match="There is no folder"):
        workspace_at(tmp_path / "gone")
