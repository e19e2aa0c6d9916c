"""Folders indexed: what changed goes in, what is gone goes out, what can't be read is named; a kill leaves nothing half done."""

import asyncio
import os
import subprocess
import sys
from contextlib import suppress

import pytest

from treadle.core.errors import SettingsError
from treadle.models.embeddings.hashed import Hashed
from treadle.stores.passages.connections import open_passages
from treadle.stores.passages.documents import TextReader, Unreadable, text_of
from treadle.stores.passages.files import named
from treadle.stores.passages.folders import Progress, index_folders
from treadle.stores.passages.passages import Passages
from treadle.stores.passages.values import Document, Passage


def write(folder, **files):
    """Files by their paths: `__` is a slash, and what comes last is the ending."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def pages(tmp_path):
    folder = tmp_path / "docs"
    write(
        folder,
        guide_md="# Guide\n\nInstall the turbine.\n",
        deep__er__spec_yaml="name: shop\nimage: nginx\n",
        notes_txt="Some notes.\n",
    )
    return folder


def index(tmp_path, *folders, embedder=None, **settings):
    """What indexing reports, and what there is afterwards."""

    async def main():
        async with Passages(tmp_path / "passages.db", embedder) as store:
            report = await index_folders(store, folders, **settings)
            return report, list(await store.sources())

    return asyncio.run(main())


def counts(report):
    return report.added, report.changed, report.unchanged, report.removed


def reasons(report):
    return {one.source: one.reason for one in report.skipped}


def find(tmp_path, query, **settings):
    async def main():
        async with Passages(tmp_path / "passages.db") as store:
            return await store.search(query, **settings)

    return asyncio.run(main())


def test_files_of_all_kinds_are_found_with_their_places(tmp_path, pages):
    report, there = index(tmp_path, pages)
    assert there == ["docs/deep/er/spec.yaml", "docs/guide.md", "docs/notes.txt"]
    assert (counts(report), report.passages, report.skipped) == ((3, 0, 0, 0), 3, ())
    (found,) = find(tmp_path, "turbine")
    assert (found.passage.title, found.passage.place) == ("Guide", "Guide, lines 1-3")
    assert find(tmp_path, "nginx")[0].passage.title == "shop"
    assert find(tmp_path, "notes")[0].passage.title == "notes"


def test_only_what_changed_is_read_again_and_what_is_gone_goes(tmp_path, pages):
    index(tmp_path, pages)
    assert counts(index(tmp_path, pages)[0]) == (0, 0, 3, 0)
    write(pages, guide_md="# Guide\n\nRemove the turbine.\n", new_md="New.\n")
    (pages / "notes.txt").unlink()
    report, there = index(tmp_path, pages)
    assert (counts(report), there) == ((1, 1, 1, 1), ["docs/deep/er/spec.yaml", "docs/guide.md", "docs/new.md"])
    assert find(tmp_path, "remove") != []
    assert find(tmp_path, "install") == []


def test_what_is_read_in_another_way_is_read_again(tmp_path, pages):
    index(tmp_path, pages)
    reader = TextReader(size=400, overlap=50, link="https://x.org/{source}#L{first_line}-L{last_line}", tags={"team": "blue"})
    assert counts(index(tmp_path, pages, reader=reader)[0]) == (0, 3, 0, 0)
    (found,) = find(tmp_path, "turbine", where={"team": "blue"})
    assert found.passage.link == "https://x.org/docs/guide.md#L1-L3"


def test_a_folder_that_is_no_longer_named_is_forgotten_and_other_collections_are_not(tmp_path, pages):
    write(tmp_path / "more", a_md="More.")
    write(tmp_path / "course", b_md="Lesson.")
    index(tmp_path, pages, tmp_path / "more")
    index(tmp_path, tmp_path / "course", collection="courses")
    report, there = index(tmp_path, tmp_path / "more")
    assert (report.removed, there) == (3, ["course/b.md", "more/a.md"])


def test_folders_of_one_name_are_told_apart(tmp_path):
    write(tmp_path, one__docs__a_md="A.", two__docs__a_md="B.")
    assert index(tmp_path, tmp_path / "one/docs", tmp_path / "two/docs")[1] == ["one/docs/a.md", "two/docs/a.md"]
    assert list(named([tmp_path, tmp_path / "one", tmp_path])) == [tmp_path.name, "one"]


def test_a_folder_that_is_not_there_is_said_so_before_anything_is_removed(tmp_path, pages):
    index(tmp_path, pages)
    with pytest.raises(SettingsError, match="no folder"):
        index(tmp_path, pages, tmp_path / "gone")
    assert len(index(tmp_path, pages)[1]) == 3


def test_what_is_no_document_is_left_out_and_named_with_the_reason(tmp_path, pages):
    write(pages, big_md="x" * 2000, binary_txt=b"PNG\0\0", latin_txt="é".encode("latin-1"), _hidden__a_md="no", _hidden_md="no")
    write(pages, empty_md="", wide_txt="Wörter".encode("utf-16"), other_py="no")
    write(pages / "node_modules", a_md="no")
    write(tmp_path, outside__secret_md="secret")
    (pages / "link.md").symlink_to(tmp_path / "outside/secret.md")
    (pages / "linked").symlink_to(tmp_path / "outside")
    (pages / "broken.md").symlink_to(pages / "nowhere.md")
    (pages / "inside.md").symlink_to(pages / "guide.md")
    (pages / "again").symlink_to(pages)
    os.mkfifo(pages / "pipe.md")
    report, there = index(tmp_path, pages, largest=1000)
    leads = "a link that leads out of the folder, or nowhere"
    assert reasons(report) == {
        "docs/big.md": "over 1,000 bytes",
        "docs/binary.txt": "not text",
        "docs/latin.txt": "not UTF-8 (byte 0)",
        "docs/link.md": leads,
        "docs/linked": leads,
        "docs/broken.md": leads,
        "docs/pipe.md": "no plain file",
    }
    usual = [
        "docs/deep/er/spec.yaml",
        "docs/empty.md",
        "docs/guide.md",
        "docs/notes.txt",
        "docs/wide.txt",
    ]
    assert there == usual
    assert find(tmp_path, "Wörter")[0].passage.text == "Wörter"


def test_a_document_that_became_unreadable_goes_and_one_that_cannot_be_opened_stays(tmp_path, pages):
    index(tmp_path, pages)
    write(pages, notes_txt=b"\0")
    (pages / "guide.md").unlink()
    (pages / "guide.md").symlink_to(pages / "guide.md")  # leads to itself
    report, there = index(tmp_path, pages)
    assert (counts(report), there) == ((0, 0, 1, 2), ["docs/deep/er/spec.yaml"])
    assert set(reasons(report)) == {"docs/notes.txt", "docs/guide.md"}


class Vanishing(TextReader, frozen=True):
    """A reader to whom a file is denied."""

    def read(self, source, data):
        raise PermissionError(13, "Permission denied")


def test_a_file_that_is_denied_just_now_keeps_its_document(tmp_path, pages):
    index(tmp_path, pages)
    write(pages, guide_md="# Changed\n")
    report, there = index(tmp_path, pages, reader=Vanishing())
    assert (counts(report), len(there)) == ((0, 0, 3, 0), 3)
    assert reasons(report) == {"docs/guide.md": "Permission denied"}


class Course:
    """A reader of another format: a line with the lesson, then what is said."""

    version = "course 1"

    def read(self, source, data):
        lesson, _, said = text_of(data).partition("\n")
        if not lesson.isdecimal():
            raise Unreadable("no lesson in the first line")
        return Document(source, "Course", passages=(Passage(said, source, at="00:01", tags={"lesson": int(lesson)}),))


def test_a_reader_of_your_own(tmp_path):
    write(tmp_path / "talks", one_srt="0\nWelcome to lasers.", two_srt="what")
    report, there = index(tmp_path, tmp_path / "talks", patterns=["*.srt"], reader=Course())
    assert (there, reasons(report)) == (["talks/one.srt"], {"talks/two.srt": "no lesson in the first line"})
    assert find(tmp_path, "lasers", where={"lesson": 0})[0].passage.place == "00:01"


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["*.md"], ["a.md"]),
        (["**/*.md"], ["a.md", "x/b.MD", "x/y/c.md"]),
        (["x/*.md"], ["x/b.MD"]),
        (["x/**/?.md"], ["x/b.MD", "x/y/c.md"]),
        (["**/[ab].md"], ["a.md", "x/b.MD"]),
        ([], []),
    ],
)
def test_patterns(tmp_path, patterns, expected):
    write(tmp_path / "p", a_md="A", x__b_MD="B", x__y__c_md="C", x__y__dmd="D")
    assert index(tmp_path, tmp_path / "p", patterns=patterns)[1] == [f"p/{one}" for one in expected]


def test_progress_is_told_and_vectors_of_another_embedder_are_made_anew(tmp_path, pages):
    for number in range(100):
        write(pages, **{f"page{number}_md": f"# Page {number}\n\nText.\n"})
    told = []
    index(tmp_path, pages, embedder=Hashed(), progress=told.append)
    assert told == [Progress(64, 103), Progress(103, 103)]
    told.clear()
    report, _ = index(tmp_path, pages, embedder=Hashed(64), progress=told.append)
    assert (report.renewed, counts(report)) == (103, (0, 0, 103, 0))
    assert told[0] == Progress(103, 103, "vectors")


def test_a_large_document_goes_in_whole(tmp_path):
    write(tmp_path / "p", a_txt="A sentence of some words. " * 15_000, b_txt="Small.")
    report, _ = index(tmp_path, tmp_path / "p", embedder=Hashed(8))
    assert report.passages > 500


# Killed, and two at once

CHILD = """
import asyncio, sys
from treadle.models.embeddings.hashed import Hashed
from treadle.stores.passages.passages import Passages
from treadle.stores.passages.folders import index_folders

async def main():
    async with Passages(sys.argv[1], Hashed(32)) as store:
        print("ready", flush=True)
        sys.stdin.readline()
        def tell(progress):
            print(progress.done, flush=True)
        report = await index_folders(store, sys.argv[2:], collection=sys.argv[2], progress=tell)
        print(report.added, report.changed, flush=True)

asyncio.run(main())
"""


def child(tmp_path, *folders):
    command = [sys.executable, "-c", CHILD, str(tmp_path / "passages.db"), *map(str, folders)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def start(process):
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("\n")
    process.stdin.flush()


def end(process):
    with process:
        return process.stdout.read()


def edition(folder, word):
    for number in range(150):
        text = "\n\n".join(f"## Part {part}\n\nEdition {word} of page {number}." for part in range(number % 5 + 1))
        write(folder, **{f"page{number:03}_md": f"# Page {number}\n\n{text}\n"})


def editions(tmp_path):
    """Of which edition each document is, every one of them whole; and that words and vectors fit what is kept."""

    async def main():
        async with Passages(tmp_path / "passages.db", Hashed(32)) as store:
            found = {}
            for source in await store.sources():
                passages = await store.document(source)
                number = int(source[-6:-3])
                assert len(passages) == number % 5 + 1
                (found[source],) = {passage.text.split("Edition ")[1].split()[0] for passage in passages}
            return found, await store.state()

    found, state = asyncio.run(main())
    assert state.without_vector == 0
    connection = open_passages(tmp_path / "passages.db")
    connection.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (state.passages,)
    connection.close()
    return found


def test_a_killed_indexing_leaves_every_document_old_or_new(tmp_path):
    pages, seen = tmp_path / "pages", set()
    edition(pages, "first")
    process = child(tmp_path, pages)
    start(process)
    assert end(process).endswith("\n150 0\n")
    for attempt in range(6):
        edition(pages, f"number{attempt}")
        process = child(tmp_path, pages)
        start(process)
        if attempt % 2:
            assert process.stdout.readline() == "64\n"  # the first documents are in
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.004 * attempt)
        process.kill()
        end(process)
        found = editions(tmp_path)
        assert len(found) == 150
        seen.add(len(set(found.values())))
    process = child(tmp_path, pages)
    start(process)
    end(process)
    assert set(editions(tmp_path).values()) == {"number5"}
    assert max(seen) > 1  # some were killed halfway


def test_two_processes_index_at_once(tmp_path):
    for name in ("one", "two", "both"):
        edition(tmp_path / name, name)
    processes = [child(tmp_path, tmp_path / name) for name in ("one", "two", "both", "both")]
    for process in processes:
        start(process)
    assert [end(process).split()[-1] for process in processes[:2]] == ["0", "0"]
    for process in processes[2:]:
        end(process)
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    found = editions(tmp_path)
    assert len(found) == 450
    assert all(source.startswith(f"{word}/") for source, word in found.items())
