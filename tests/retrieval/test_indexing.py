"""Folders indexed: what changed goes in, what is gone goes out, what can't be read is named; a kill leaves nothing half done."""

import asyncio
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cli.forkserver import Forked
from treadle.core.errors import SettingsError
from treadle.retrieval.connections import open_passages
from treadle.retrieval.indexing import IndexProgress, index_folders
from treadle.retrieval.local_embeddings import HashedEmbedder
from treadle.retrieval.passages import Passages
from treadle.retrieval.source_files import TextReader, UnreadableDocument, decode_document, folder_names
from treadle.retrieval.values import Passage, SourceDocument


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


def test_a_file_can_be_named_in_place_of_a_folder(tmp_path, pages):
    (tmp_path / "course.rst").write_text("A file of any name.")
    report, there = index(tmp_path, pages, tmp_path / "course.rst")
    assert (report.added, there[0]) == (4, "course.rst")
    report, there = index(tmp_path, tmp_path / "course.rst")
    assert (counts(report), there) == ((0, 0, 1, 3), ["course.rst"])


def test_a_folder_that_is_away_for_a_while_loses_nothing(tmp_path, pages):
    write(tmp_path / "more", a_md="More.")
    index(tmp_path, pages, tmp_path / "more")
    pages.rename(tmp_path / "unmounted")
    report, there = index(tmp_path, pages, tmp_path / "more")
    assert (counts(report), len(there)) == ((0, 0, 1, 0), 4)
    assert reasons(report) == {"docs": "isn't there; what was read before is kept"}
    assert find(tmp_path, "turbine") != []


def test_folders_of_one_name_are_told_apart(tmp_path):
    write(tmp_path, one__docs__a_md="A.", two__docs__a_md="B.")
    assert index(tmp_path, tmp_path / "one/docs", tmp_path / "two/docs")[1] == ["one/docs/a.md", "two/docs/a.md"]
    assert list(folder_names([tmp_path, tmp_path / "one", tmp_path])) == [tmp_path.name, "one"]


def test_a_place_that_was_never_there_keeps_no_other_from_being_indexed(tmp_path, pages):
    report, there = index(tmp_path, tmp_path / "gone", pages, tmp_path / "gone.md", pages / "guide.md" / "inside")
    assert (counts(report), len(there)) == ((3, 0, 0, 0), 3)
    assert reasons(report) == {"gone": "isn't there", "gone.md": "isn't there", "inside": "Not a directory"}


def test_where_none_of_the_places_was_ever_there_it_is_said_so_before_anything_is_removed(tmp_path, pages):
    index(tmp_path, pages)
    with pytest.raises(SettingsError, match=r"no folder to index: .*/gone \(isn't there\), .*/typo \(isn't there\)"):
        index(tmp_path, tmp_path / "gone", tmp_path / "typo")
    assert len(index(tmp_path, pages)[1]) == 3
    assert index(tmp_path)[0].removed == 3  # none named is no mistake


def test_of_places_that_are_all_away_what_was_read_is_kept(tmp_path, pages):
    index(tmp_path, pages)
    pages.rename(tmp_path / "unmounted")
    report, there = index(tmp_path, pages, tmp_path / "gone")
    assert (counts(report), len(there)) == ((0, 0, 0, 0), 3)
    assert reasons(report) == {"docs": "isn't there; what was read before is kept", "gone": "isn't there"}


DENIED = """
import asyncio, os, sys
from pathlib import Path
from treadle.retrieval.indexing import index_folders
from treadle.retrieval.passages import Passages

top = Path(sys.argv[1])
shut = {"docs/shut": 0o000, "docs/listed": 0o444, "whole": 0o000}

async def look():
    async with Passages(top / "passages.db") as store:
        report = await index_folders(store, [top / "docs", top / "whole"])
        print(report.added, report.unchanged, report.removed, sorted(await store.sources()))
        print(sorted((each.source, each.reason) for each in report.skipped))

asyncio.run(look())
(top / "docs/gone.md").unlink()
if os.getuid() == 0:  # to whom nothing is denied
    for path in (top, *top.rglob("*")):
        os.chown(path, 65534, 65534)
    os.setuid(65534)
for name, mode in shut.items():
    (top / name).chmod(mode)
try:
    asyncio.run(look())
finally:
    for name in shut:
        (top / name).chmod(0o755)
"""


def test_a_folder_that_must_not_be_looked_into_is_named_and_loses_nothing():
    with TemporaryDirectory() as top:  # not `tmp_path`, into which nobody but its owner gets
        files = {"docs__a_md": "A.", "docs__gone_md": "G.", "docs__shut__deep__b_md": "B.", "docs__listed__c_md": "C."}
        write(Path(top), **files, whole__d_md="D.")
        done = subprocess.run([sys.executable, "-c", DENIED, top], capture_output=True, text=True, check=True)
    kept = ["docs/a.md", "docs/listed/c.md", "docs/shut/deep/b.md", "whole/d.md"]
    denied = "Permission denied; what was read before is kept"
    assert done.stdout.splitlines()[:2] == [f"5 0 0 {sorted([*kept, 'docs/gone.md'])}", "[]"]
    assert done.stdout.splitlines()[2:] == [
        f"0 2 1 {kept}",
        str([("docs/listed/c.md", "Permission denied"), ("docs/shut", denied), ("whole", denied)]),
    ]


def test_a_file_whose_name_is_no_utf_8_has_one_name_at_every_look(tmp_path):
    folder = tmp_path / os.fsdecode(b"d\xffcs")
    folder.mkdir()
    for name in (b"b\xffd.md", b"b\xfed.md", b"b?d.md"):
        (folder / os.fsdecode(name)).write_text("Text.")
    for _ in range(2):
        report, there = index(tmp_path, folder)
        assert there == ["d\\xffcs/b?d.md", "d\\xffcs/b\\xfed.md", "d\\xffcs/b\\xffd.md"]
    assert counts(report) == (0, 0, 3, 0)
    folder.rename(tmp_path / "away")
    assert len(index(tmp_path, folder)[1]) == 3


# Looks


def settle(*paths, seconds=10):
    """As if these had been changed a while ago."""
    for path in paths:
        changed = time.time_ns() - seconds * 1_000_000_000
        os.utime(path, ns=(changed, changed))


def rewrite(path, text):
    """Other text of the same length, which can't be seen from the outside."""
    before = path.stat()
    assert before.st_size == len(text)
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_file_that_looks_as_it_did_is_read_only_by_who_is_thorough(tmp_path, pages):
    settle(*pages.rglob("*.*"))
    index(tmp_path, pages)
    rewrite(pages / "guide.md", "# Guide\n\nInstall the compass.\n")
    assert counts(index(tmp_path, pages)[0]) == (0, 0, 3, 0)
    assert find(tmp_path, "compass") == []
    assert counts(index(tmp_path, pages, thorough=True)[0]) == (0, 1, 2, 0)
    assert find(tmp_path, "compass") != []


def test_a_file_that_was_read_right_after_it_was_written_is_read_once_more(tmp_path, pages):
    """It may have been changed again within the time that its file system tells apart."""
    settle(*pages.rglob("*.*"), seconds=1)
    index(tmp_path, pages)
    rewrite(pages / "guide.md", "# Guide\n\nInstall the compass.\n")
    assert counts(index(tmp_path, pages)[0]) == (0, 1, 2, 0)


def test_how_a_file_looks_is_kept_when_it_says_the_same(tmp_path, pages):
    index(tmp_path, pages)  # too young to be relied on
    settle(*pages.rglob("*.*"))
    assert counts(index(tmp_path, pages)[0]) == (0, 0, 3, 0)
    rewrite(pages / "guide.md", "# Guide\n\nInstall the compass.\n")
    assert counts(index(tmp_path, pages)[0]) == (0, 0, 3, 0)
    settle(pages / "guide.md", seconds=5)
    assert counts(index(tmp_path, pages)[0]) == (0, 1, 2, 0)


def test_what_is_read_in_another_way_or_is_too_large_now_is_looked_at_closely(tmp_path, pages):
    settle(*pages.rglob("*.*"))
    index(tmp_path, pages)
    assert counts(index(tmp_path, pages, reader=TextReader(size=400))[0]) == (0, 3, 0, 0)
    report, there = index(tmp_path, pages, reader=TextReader(size=400), largest=20)
    assert (counts(report), there) == ((0, 0, 1, 2), ["docs/notes.txt"])
    assert set(reasons(report).values()) == {"over 20 bytes"}


class Choosy(TextReader, frozen=True):
    """A reader whose settings are for one file alone."""

    title: str = "x"

    def version_of(self, source):
        return self.title if source == "docs/guide.md" else ""


def test_a_reader_can_say_what_applies_to_a_file(tmp_path, pages):
    for young in (True, False):
        index(tmp_path, pages, reader=Choosy(title=f"old {young}"))
        assert counts(index(tmp_path, pages, reader=Choosy(title=f"new {young}"))[0]) == (0, 1, 2, 0)
        settle(*pages.rglob("*.*"))


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
        lesson, _, said = decode_document(data).partition("\n")
        if not lesson.isdecimal():
            raise UnreadableDocument("no lesson in the first line")
        return SourceDocument(source, "Course", passages=(Passage(said, source, at="00:01", tags={"lesson": int(lesson)}),))


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
    index(tmp_path, pages, embedder=HashedEmbedder(), progress=told.append)
    assert told == [IndexProgress(64, 103), IndexProgress(103, 103)]
    told.clear()
    report, _ = index(tmp_path, pages, embedder=HashedEmbedder(64), progress=told.append)
    assert (report.renewed, counts(report)) == (103, (0, 0, 103, 0))
    assert told[0] == IndexProgress(103, 103, "vectors")


class Quick:
    """A reader who takes any file as one passage."""

    version = "quick"

    def read(self, source, data):
        return SourceDocument(source, passages=(Passage("Text.", source),))


def test_no_more_is_read_at_once_than_fits_into_memory(tmp_path):
    for number in range(20):
        write(tmp_path / "p", **{f"{number:02}_txt": b"x" * 900_000})
    told = []
    index(tmp_path, tmp_path / "p", reader=Quick(), progress=told.append)
    assert told == [IndexProgress(8, 20), IndexProgress(16, 20), IndexProgress(20, 20)]


def test_a_large_file_is_told_of_before_and_after_unless_it_is_left_alone(tmp_path):
    write(tmp_path / "p", a_txt="A", b_txt=b"x" * 1_000_001, c_txt=b"x" * 3_000_000, d_txt="D", e_txt="E")
    settle(*(tmp_path / "p").iterdir())
    told = []
    index(tmp_path, tmp_path / "p", reader=Quick(), progress=told.append, largest=5_000_000)
    assert told == [
        IndexProgress(1, 5),
        IndexProgress(1, 5, name="p/b.txt"),
        IndexProgress(2, 5),
        IndexProgress(2, 5, name="p/c.txt"),
        IndexProgress(3, 5),
        IndexProgress(5, 5),
    ]
    told.clear()
    (tmp_path / "p" / "d.txt").write_text("New")
    index(tmp_path, tmp_path / "p", reader=Quick(), progress=told.append, largest=5_000_000)
    assert told == [IndexProgress(4, 5), IndexProgress(5, 5)]


def test_a_large_document_goes_in_whole(tmp_path):
    write(tmp_path / "p", a_txt="A sentence of some words. " * 15_000, b_txt="Small.")
    report, _ = index(tmp_path, tmp_path / "p", embedder=HashedEmbedder(8))
    assert report.passages > 500


# Killed, and two at once

CHILD = """
import asyncio, sys
from treadle.retrieval.local_embeddings import HashedEmbedder
from treadle.retrieval.passages import Passages
from treadle.retrieval.indexing import index_folders

async def main():
    async with Passages(sys.argv[1], HashedEmbedder(32)) as store:
        print("ready", flush=True)
        sys.stdin.readline()
        def tell(progress):
            print(progress.done, flush=True)
        report = await index_folders(store, sys.argv[2:], collection=sys.argv[2], progress=tell)
        print(report.added, report.changed, flush=True)

asyncio.run(main())
"""


def child(tmp_path, *folders):
    words = ["-c", CHILD, str(tmp_path / "passages.db"), *map(str, folders)]
    return Forked(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


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
        async with Passages(tmp_path / "passages.db", HashedEmbedder(32)) as store:
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
