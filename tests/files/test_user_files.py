"""Users' files are opened in one way; what opens something else has its reason."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "user_files.py"


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("user_files", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_nothing_opens_a_users_file_otherwise(check):
    assert check.findings() == []


@pytest.mark.parametrize(
    "line",
    [
        "open(name)",
        "os.open(name, 0)",
        "Path(name).read_text()",
        "(folder / name).read_bytes()",
        "to_thread(path.read_bytes)",
        "path.open('rb')",
        "(root / name).resolve()",
        "os.walk(folder)",
        "os.path.realpath(name)",
        "list(folder.rglob('*'))",
        "self.folder.iterdir()",
    ],
)
def test_another_way_is_found(check, tmp_path, line):
    (tmp_path / "assistants").mkdir()
    (tmp_path / "assistants" / "new.py").write_text(f"x = 1\n{line}\n")
    found = [each for each in check.findings(tmp_path) if each.startswith("assistants/new.py:2: ")]
    assert len(found) == 1
    assert found[0].endswith("open it by treadle.files")


@pytest.mark.parametrize(
    "line", ["workspace.read_bytes(name)", "self._workspace.write_bytes(name, b'')", "Workspace(folder).read_bytes(name)"]
)
def test_the_one_way_is_none_of_them(check, tmp_path, line):
    (tmp_path / "toolsets").mkdir()
    (tmp_path / "toolsets" / "new.py").write_text(f"{line}\n")
    assert not [each for each in check.findings(tmp_path) if "new.py" in each]


def test_a_reason_for_nothing_is_found(check, tmp_path):
    assert "server/pages.py: nothing is opened there; take it out of MAY" in check.findings(tmp_path)
