"""Material that is uploaded: by HTTP, as archives and from URLs; what is refused; and how it is deleted."""

import asyncio
import base64
import io
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from assistants.courses.course_setup import ASTRONOMY, SAILING, add, staged, write
from cli.running import treadle
from treadle.assistants.courses.library import CourseLibrary
from treadle.assistants.courses.settings import CoursesSettings
from treadle.assistants.courses.uploads import UploadFolder, UploadRefused, validate_upload_name
from treadle.passages import HashedEmbedder

NIGHT = "# Finding north\n\nThe zephyrstone points north on every clear night."


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def archive(files, **more):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in files.items():
            packed.writestr(name, text, **more)
    return made.getvalue()


def sent(**files):
    return {"files": [{"name": name, "content": base64.b64encode(_bytes(data)).decode()} for name, data in files.items()]}


def _bytes(data):
    return data if isinstance(data, bytes) else data.encode()


def indexed(stage):
    """The uploads, once nothing is indexed any more."""
    while (told := stage.ask("GET", "/api/courses/files")[1])["indexing"] is not None:
        pass
    return told


def titles(stage):
    return stage.ask("GET", "/api/courses")[1]["course_titles"]


def test_files_and_folders_are_uploaded_and_can_be_asked_about(home):
    with staged(home) as stage:
        files = sent(**{"sailing.txt": SAILING, "sky/01-finding-north.md": NIGHT})
        status, told = stage.ask("POST", "/api/courses/files", files)
        assert (status, told["files"], told["skipped"]) == (202, ["sailing.txt", "sky/01-finding-north.md"], [])
        assert {each["name"]: each["courses"] for each in indexed(stage)["files"]} == {
            "sailing.txt": ["Sailing for Beginners"],
            "sky/01-finding-north.md": ["Sky"],
        }
        assert titles(stage) == ["Sailing for Beginners", "Sky"]
        found = stage.ask("GET", "/api/courses/search?q=zephyrstone")[1]["found"]
        assert "zephyrstone" in found[0]["text"]


def test_an_archive_is_unpacked_and_what_cant_be_read_is_named(home):
    packed = archive({"sky/01-north.md": NIGHT, "sky/photo.png": "x", "sailing.txt": SAILING})
    with staged(home) as stage:
        status, told = stage.ask("POST", "/api/courses/files", sent(**{"all.zip": packed}))
        assert (status, told["files"]) == (202, ["sky/01-north.md", "all/sailing.txt"])
        assert [each["source"] for each in told["skipped"]] == ["sky/photo.png"]
        indexed(stage)
        assert titles(stage) == ["Sailing for Beginners", "Sky"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (sent(**{"../../escaped.txt": "x"}), "can't be the name of an uploaded file"),
        (sent(**{"/etc/passwd.txt": "x"}), "can't be the name of an uploaded file"),
        (sent(**{".hidden.txt": "x"}), "can't be the name of an uploaded file"),
        (sent(**{"program.exe": "x"}), "can't be read here; these can: .txt"),
        (sent(**{"broken.zip": "PK no archive"}), "is no zip archive that can be unpacked"),
        (sent(**{"slip.zip": archive({"../../escaped.txt": "x"})}), "can't be the name of an uploaded file"),
        (sent(**{"pictures.zip": archive({"a.png": "x"})}), "There is no file in pictures.zip that can be read"),
        ({"url": "file:///etc/passwd"}, "is no address of a file"),
        ({"url": "http://127.0.0.1:9/lesson.txt"}, "127.0.0.1"),
        ({}, "Send `files`"),
    ],
)
def test_what_isnt_taken_is_refused_with_a_sentence_and_nothing_is_written(home, body, says):
    with staged(home) as stage:
        status, told = stage.ask("POST", "/api/courses/files", body)
        assert (status, stage.ask("GET", "/api/courses/files")[1]["files"]) == (422, [])
    assert says in told["error"]
    assert not list(home.rglob("escaped.txt"))


def test_links_and_encrypted_files_of_an_archive_are_left_out(home):
    link = zipfile.ZipInfo("link.txt")
    link.external_attr = 0o120777 << 16
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        packed.writestr(link, "/etc/passwd")
        packed.writestr("plain.txt", "Plain.")
    stored = UploadFolder(home).add("some.zip", made.getvalue())
    assert (stored.files, stored.skipped[0].reason) == (("some/plain.txt",), "no plain file")
    locked = bytearray(archive({"secret.txt": "x", "plain.txt": "y"}))
    at = locked.index(b"PK\1\2")
    locked[at + 8] |= 1  # as the archive's directory says it
    assert UploadFolder(home).add("locked.zip", bytes(locked)).skipped[0].reason == "it is encrypted"


def test_an_archive_that_would_fill_the_disk_is_refused_by_its_directory(home):
    uploads, bomb = UploadFolder(home), io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
        for number in range(30):
            packed.writestr(f"{number}.txt", "x")
        for listed in packed.infolist():
            listed.file_size = 40_000_000
    with pytest.raises(UploadRefused, match="larger than 1,000 MB"):
        uploads.add("bomb.zip", bomb.getvalue())
    many = bytearray(archive({"a.txt": "x"}))
    many[-10:-6] = (3_000_000).to_bytes(4, "little")
    with pytest.raises(UploadRefused, match="too many files"):
        uploads.add("many.zip", bytes(many))
    assert uploads.files() == []


@pytest.mark.parametrize(
    "name", ["", "a/../b.txt", "a\0.txt", "x" * 200 + ".txt", "/".join("abcdefghi") + ".txt", "a /b.txt", ".."]
)
def test_names_that_lead_elsewhere_are_refused(name):
    with pytest.raises(UploadRefused):
        validate_upload_name(name)


def test_documents_and_courses_are_deleted_with_all_their_words(home):
    with staged(home) as stage:
        stage.ask("POST", "/api/courses/files", sent(**{"sailing.txt": SAILING, "sky/north.md": NIGHT, "moon.txt": ASTRONOMY}))
        indexed(stage)
        assert stage.ask("DELETE", "/api/courses/files/sky/north.md")[0] == 204
        assert stage.ask("DELETE", "/api/courses/files/sky/north.md")[0] == 404
        assert titles(stage) == ["Sailing for Beginners", "The Moon and Her Effects"]
        key = stage.ask("GET", "/api/courses")[1]["courses"][1]["key"]
        assert stage.ask("DELETE", "/api/courses", params={"course": key})[0] == 204
        assert stage.ask("DELETE", "/api/courses", params={"course": key})[0] == 404
        assert titles(stage) == ["Sailing for Beginners"]
    left = [path for path in (home / "data").rglob("*") if path.is_file() and _holds(path, b"zephyrstone", b"Adeyemi")]
    assert left == []


def _holds(path, *words):
    return any(word.lower() in path.read_bytes().lower() for word in words)


def test_what_lies_in_an_added_folder_isnt_deleted(home):
    material = write(home / "material", sailing=SAILING)
    add(home / "data", material)
    with staged(home) as stage:
        status, told = stage.ask("DELETE", "/api/courses", params={"course": "material/sailing.txt"})
    assert (status, "Take it out of that folder" in told["error"]) == (409, True)
    assert (material / "sailing.txt").exists()


@contextmanager
def site(**pages):
    """A web server with these pages, each as its content type and text."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            kind, text = pages.get(self.path.strip("/"), ("", ""))
            self.send_response(200 if text else 404)
            self.send_header("content-type", kind)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_a_page_of_the_web_is_fetched_where_private_addresses_may_be(home, monkeypatch):
    page = "<h1>Knots</h1><p>A bowline makes a loop that holds.</p>"
    with site(knots=("text/html; charset=utf-8", page), picture=("image/png", "x")) as url:
        monkeypatch.setenv("TREADLE_COURSES_PRIVATE_URLS", "true")
        with staged(home) as stage:
            assert stage.ask("POST", "/api/courses/files", {"url": f"{url}/knots"})[1]["files"] == ["knots.html"]
            indexed(stage)
            assert titles(stage) == ["Knots"]
            for path, says in {"picture": "image/png", "gone": "answered with 404"}.items():
                assert says in stage.ask("POST", "/api/courses/files", {"url": f"{url}/{path}"})[1]["error"]


def test_archives_and_urls_are_added_and_courses_deleted_at_the_command_line(home, monkeypatch):
    (home / "sky.zip").write_bytes(archive({"sky/01-north.md": NIGHT, "notes.doc": "x"}))
    ran = treadle(home, "courses", "add", str(home / "sky.zip"))
    assert (ran.code, ran.out) == (0, "Files: 1 added. There is 1 course now.\n")
    assert "notes.doc was left out" in ran.err
    assert "  course-uploads/sky/01-north.md" in treadle(home, "courses", "list", "--files").out.splitlines()
    wrong = treadle(home, "courses", "delete", "sky", "--file", "nothing")
    assert (wrong.code, "There is no nothing in it." in wrong.err) == (2, True)
    assert treadle(home, "courses", "delete", "sky").out == "Deleted: Sky\n"
    assert treadle(home, "courses", "list", "--json").json == []
    assert treadle(home, "courses", "delete", "sky").code == 2
    assert "127.0.0.1" in treadle(home, "courses", "add", "http://127.0.0.1:9/x.txt").err


def test_a_course_that_was_added_by_itself_is_taken_off_and_its_files_stay(home):
    folder = write(home / "talks", a="About flamingos.")
    treadle(home, "courses", "add", str(folder), "--title", "Birds")
    assert treadle(home, "courses", "delete", "birds").out == "Deleted: Birds\n"
    assert treadle(home, "courses", "list", "--json").json == []
    assert (folder / "a.txt").exists()


def test_what_comes_while_others_are_indexed_is_indexed_too(home):
    async def main():
        async with CourseLibrary(home, CoursesSettings(), HashedEmbedder()) as library:
            for number in range(3):
                library.uploads.add(f"course-{number}.txt", f"Course Title: Course {number}\n\nWords.".encode())
                library.index_soon()
            assert library.is_indexing
            while library.is_indexing:
                await library.keep_fresh()
                await library._looking
            return [course.name for course in (await library.catalogue()).courses], library.progress

    assert asyncio.run(main()) == (["Course 0", "Course 1", "Course 2"], None)
