"""Searching with ripgrep and without, alike."""

import asyncio
import os
import sys

import pytest

from treadle.files.problems import BadSearch, OutsideWorkspace, SecretFile
from treadle.files.workspace import Workspace
from treadle.toolsets.workspace.search import Search, find_ripgrep


@pytest.fixture(params=["ripgrep", "scan"])
def search(request, tmp_path):
    if request.param == "ripgrep" and find_ripgrep() is None:
        pytest.skip("ripgrep is not installed")
    (tmp_path / "src" / "node_modules").mkdir(parents=True)
    (tmp_path / "src" / "a.py").write_text("def total(items):\n    return sum(items)\n")
    (tmp_path / "src" / "node_modules" / "b.py").write_text("def total(): pass\n")
    (tmp_path / "notes.md").write_text("Total: --files\n")
    (tmp_path / "image.bin").write_bytes(b"total\0\xff")
    return Search(Workspace(tmp_path), plain=request.param == "scan")


def hits(found):
    return [(hit.path, hit.line, hit.text.rstrip("\n")) for hit in found.hits]


def grep(search, *args, **options):
    return asyncio.run(search.grep(*args, **options))


def folder(search):
    return search._workspace.folder


def test_lines_are_found_in_all_files_that_are_text(search):
    assert hits(grep(search, "total")) == [("src/a.py", 1, "def total(items):")]
    assert [hit[0] for hit in hits(grep(search, "total", ignore_case=True))] == ["notes.md", "src/a.py"]


def test_only_some_files_or_some_folder_is_searched(search):
    assert hits(grep(search, "otal", ".", ["*.md"])) == [("notes.md", 1, "Total: --files")]
    assert [hit[0] for hit in hits(grep(search, "otal", "src"))] == ["src/a.py"]
    assert [hit[0] for hit in hits(grep(search, "otal", "src/node_modules"))] == ["src/node_modules/b.py"]
    assert [hit[0] for hit in hits(grep(search, "otal", ".", ["src/**/*.py"]))] == ["src/a.py"]


def test_files_are_listed_without_hidden_and_installed_ones_or_by_a_text_in_them(search):
    (folder(search) / ".hidden.py").write_text("total\n")
    assert [*sorted(asyncio.run(search.list_files()).paths)] == ["image.bin", "notes.md", "src/a.py"]
    assert asyncio.run(search.list_files("src")).paths == ("src/a.py",)
    assert asyncio.run(search.find_matching_files(r"total\(")).paths == ("src/a.py",)
    assert asyncio.run(search.find_matching_files("gone")).paths == ()
    assert asyncio.run(search.list_files(most=1)).more


@pytest.mark.parametrize("glob", ["*", "**", "**/*"])
def test_a_glob_for_every_file_finds_no_hidden_ones(search, glob):
    (folder(search) / ".cache").mkdir()
    (folder(search) / ".cache" / "c.py").write_text("total\n")
    assert sorted(asyncio.run(search.find_files(glob)).paths) == ["image.bin", "notes.md", "src/a.py"]
    assert [hit[0] for hit in hits(grep(search, "total", ".", [glob]))] == ["src/a.py"]


@pytest.mark.parametrize("pattern", ["--files", "--pre=touch", "-f/etc/passwd", "--", "-e", "--help"])
def test_a_pattern_that_looks_like_an_option_is_a_pattern(search, pattern):
    (folder(search) / "odd.txt").write_text(f"x {pattern} y\n")
    assert ("odd.txt", 1, f"x {pattern} y") in hits(grep(search, pattern))


@pytest.mark.parametrize("glob", ["--files", "-f/etc/passwd", "--pre=touch"])
def test_a_glob_that_looks_like_an_option_is_a_glob(search, glob):
    assert hits(grep(search, "total", ".", [glob])) == []
    assert asyncio.run(search.find_files(glob)).paths == ()


def test_a_folder_that_looks_like_an_option_is_a_folder(search):
    (folder(search) / "--help").mkdir()
    (folder(search) / "--help" / "x.txt").write_text("here\n")
    assert hits(grep(search, "here", "--help")) == [("--help/x.txt", 1, "here")]


def test_names_with_line_breaks_and_dashes_are_told_apart(search):
    for name in ("-rf", "two\nlines:7:x", "3:a\n4:b"):
        (folder(search) / name).write_text("one\nneedle\n")
    assert {hit[:2] for hit in hits(grep(search, "needle"))} == {("-rf", 2), ("two\nlines:7:x", 2), ("3:a\n4:b", 2)}
    assert "two\nlines:7:x" in asyncio.run(search.find_files("two*")).paths


def test_a_bad_pattern_is_said_to_be_bad(search):
    with pytest.raises(BadSearch, match="regex parse error"):
        grep(search, "a(b")
    with pytest.raises(BadSearch):
        asyncio.run(search.find_in_file("a(b", "notes.md"))


def test_at_most_so_many_lines_are_given(search):
    (folder(search) / "many.txt").write_text("needle\n" * 5000)
    found = grep(search, "needle", most=7)
    assert (len(found.hits), found.more) == (7, True)
    found = grep(search, "needle", most=5000)
    assert (len(found.hits), found.more) == (5000, False)
    names = asyncio.run(search.find_files("*", most=1))
    assert (len(names.paths), names.more) == (1, True)


def test_secrets_are_not_found_whatever_is_asked_for(search):
    (folder(search) / ".env").write_text("needle=1\n")
    (folder(search) / "server.pem").write_text("needle\n")
    assert hits(grep(search, "needle")) == []
    assert hits(grep(search, "needle", ".", [".env", "*.pem"])) == []
    with pytest.raises(SecretFile):
        asyncio.run(search.find_in_file("needle", ".env"))


def test_links_that_lead_out_are_not_searched(search):
    outside = folder(search).parent / f"{folder(search).name}-outside"
    outside.mkdir()
    (outside / "x.txt").write_text("needle\n")
    (folder(search) / "link").symlink_to(outside)
    (folder(search) / "file.txt").symlink_to(outside / "x.txt")
    assert hits(grep(search, "needle")) == []
    for where in ("link", "../", str(outside)):
        with pytest.raises(OutsideWorkspace):
            grep(search, "needle", where)


def test_lines_of_one_file_are_found(search):
    found = asyncio.run(search.find_in_file("SUM", "src/a.py", ignore_case=True))
    assert hits(found) == [("src/a.py", 2, "    return sum(items)")]
    found = asyncio.run(search.find_in_file(".", "src/a.py", most=1))
    assert (len(found.hits), found.more) == (1, True)


def test_files_are_found_by_name(search):
    assert asyncio.run(search.find_files("*.py")).paths == ("src/a.py",)
    assert asyncio.run(search.find_files("a.*", "src")).paths == ("src/a.py",)
    assert asyncio.run(search.find_files("*.rs")).paths == ()


def test_pipes_do_not_hold_a_search_up(search):
    os.mkfifo(folder(search) / "pipe")
    assert [hit[0] for hit in hits(grep(search, "total"))] == ["src/a.py"]


def test_a_search_that_takes_too_long_ends_and_says_so(tmp_path):
    slow = tmp_path / "slow"
    slow.write_text(f"#!{sys.executable}\nimport os, signal\nos.write(1, b'./a.txt\\0001:\\n')\nsignal.pause()\n")
    slow.chmod(0o755)
    (tmp_path / "a.txt").write_text("first\n")
    found = grep(Search(Workspace(tmp_path), str(slow), seconds=1), "x")
    assert hits(found) == [("a.txt", 1, "first")]
    assert found.late


def test_a_pattern_that_would_take_forever_is_stopped(tmp_path):
    (tmp_path / "a.txt").write_text("a" * 60 + "b\n")
    assert grep(Search(Workspace(tmp_path), seconds=0.5, plain=True), "(a+)+$").late


def test_what_a_program_says_is_read_beneath_the_workspace(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "key.pem").write_text("secret\n")
    (tmp_path / "work" / "short.txt").write_text("one\n")
    (tmp_path / "outside.txt").write_text("outside\n")
    lying = tmp_path / "lying"
    said = r"./../outside.txt\0001:\n/etc/passwd\0001:\nkey.pem\0001:\nshort.txt\0009:\nshort.txt\0001:\n"
    lying.write_text(f"#!{sys.executable}\nprint('{said}', end='')\n")
    lying.chmod(0o755)
    assert hits(grep(Search(Workspace(tmp_path / "work"), str(lying)), "x")) == [("short.txt", 1, "one")]


def test_a_cancelled_search_leaves_no_process(tmp_path):
    slow, pipe = tmp_path / "slow", tmp_path / "pipe"
    os.mkfifo(pipe)
    slow.write_text(f"#!/bin/sh\necho $$ > '{pipe}'\nexec sleep 60\n")
    slow.chmod(0o755)

    async def tale():
        task = asyncio.ensure_future(Search(Workspace(tmp_path), str(slow)).grep("x"))
        number = int(await asyncio.to_thread(pipe.read_text))
        task.cancel()
        await asyncio.wait([task])
        return number

    with pytest.raises(ProcessLookupError):
        os.kill(asyncio.run(tale()), 0)


def test_what_git_ignores_is_not_searched(tmp_path):
    if find_ripgrep() is None:
        pytest.skip("ripgrep is not installed")
    (tmp_path / ".gitignore").write_text("made.txt\n")
    (tmp_path / "made.txt").write_text("needle\n")
    (tmp_path / "own.txt").write_text("needle\n")
    assert hits(grep(Search(Workspace(tmp_path)), "needle")) == [("own.txt", 1, "needle")]


def test_a_configuration_of_ripgrep_changes_nothing(tmp_path, monkeypatch):
    if find_ripgrep() is None:
        pytest.skip("ripgrep is not installed")
    (tmp_path / "config").write_text("--invert-match\n")
    (tmp_path / "a.txt").write_text("x\ny\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "config"))
    assert hits(grep(Search(Workspace(tmp_path)), "x", ".", ["*.txt"])) == [("a.txt", 1, "x")]
