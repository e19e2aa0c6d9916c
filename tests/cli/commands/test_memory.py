"""`treadle memory`."""

from pathlib import Path

from cli.running import asks, script
from cli.running import treadle_here as treadle


def folder(home):
    path = Path(treadle(home, "memory", "path", "--json").json["user"])
    path.mkdir(parents=True, exist_ok=True)
    return path


def test_notes_are_listed_shown_and_deleted(home):
    assert "There are no notes." in treadle(home, "memory").err
    (folder(home) / "style.md").write_text("Use tabs.\x1b[2J")
    listed = treadle(home, "memory")
    assert "style  user   by hand  Use tabs." in listed.out
    assert "memory.enabled is false" in listed.err
    shown = treadle(home, "memory", "show", "style")
    assert shown.out.startswith("Use tabs.")
    assert "\x1b[2J" not in shown.out
    assert treadle(home, "memory", "forget", "style").out == "Deleted: style (user)\n"
    assert treadle(home, "memory", "forget", "style").code == 2
    assert len(treadle(home, "memory", "path").out.splitlines()) == 2


def test_two_notes_of_a_name_are_told_apart_by_their_scope(home):
    paths = treadle(home, "memory", "path", "--json").json
    for path in paths.values():
        Path(path).mkdir(parents=True)
        (Path(path) / "style.md").write_text(f"In {Path(path).name}.")
    assert "--scope" in treadle(home, "memory", "show", "style").err
    assert treadle(home, "memory", "show", "style", "--scope", "user").out == "In user.\n"


def test_with_the_setting_a_model_reads_and_writes_notes(home, tmp_path):
    settings = tmp_path / "treadle.toml"
    settings.write_text("[memory]\nenabled = true\n")
    note = {"name": "style", "text": "Use tabs.", "description": "How code is formatted"}
    asked = ("ask", "Go.", "-m", script(home, asks(("write_note", note)), "Noted."), "--user", "ann", "--allow", "write_note")
    assert treadle(home, *asked, TREADLE_CONFIG=str(settings)).code == 0
    shown = treadle(home, "memory", TREADLE_CONFIG=str(settings))
    assert ", for ann" in shown.out
    assert "How code is formatted" in shown.out
    again = treadle(home, "ask", "Go.", "-m", script(home, "Hi."), TREADLE_CONFIG=str(settings))
    assert "Read notes (" in again.err
