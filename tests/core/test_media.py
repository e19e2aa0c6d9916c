"""Images, recordings and documents: what they are is found out, and what they can't be is said in a sentence."""

import os
import pickle
import socket
from base64 import b64encode

import msgspec
import pytest

from attachments import MP3, PDF, png, wav
from treadle import Audio, Document, Image
from treadle.core.calls import Media
from treadle.core.errors import BadMedia, SettingsError, TreadleError
from treadle.core.media import attachment_from_base64, attachment_from_bytes, attachment_from_path, attachment_of

PICTURE = "a PNG, JPEG, GIF or WebP image"
JPEG, GIF, WEBP = b"\xff\xd8\xff\xe0" + bytes(20), b"GIF89a" + bytes(20), b"RIFF\x10\0\0\0WEBPVP8 " + bytes(20)
FOUND = [
    (Image, png(), "image/png"),
    (Image, JPEG, "image/jpeg"),
    (Image, GIF, "image/gif"),
    (Image, b"GIF87a" + bytes(9), "image/gif"),
    (Image, WEBP, "image/webp"),
    (Audio, wav(), "audio/wav"),
    (Audio, MP3, "audio/mpeg"),
    (Audio, b"ID3\x04" + bytes(20), "audio/mpeg"),
    (Audio, b"OggS" + bytes(20), "audio/ogg"),
    (Audio, b"fLaC" + bytes(20), "audio/flac"),
    (Document, PDF, "application/pdf"),
    (Document, "Größe".encode(), "text/plain"),
    (Document, b"x" * 2000 + "ü".encode(), "text/plain"),
    (Document, b"x" * 1023 + "ü".encode(), "text/plain"),
]


@pytest.mark.parametrize(("kind", "data", "media_type"), FOUND)
def test_the_type_is_found_out_from_the_bytes(kind, data, media_type):
    given = kind.from_bytes(data, name="a")
    assert (given.data, given.media_type, given.name, given.kind) == (data, media_type, "a", kind.kind)
    assert attachment_from_bytes(data, name="a") == given


@pytest.mark.parametrize(("kind", "data", "media_type"), FOUND)
def test_they_are_read_from_files_and_base64(kind, data, media_type, tmp_path):
    path = tmp_path / "given"
    path.write_bytes(data)
    given = kind.from_path(str(path))
    assert (given.data, given.media_type, given.name) == (data, media_type, "given")
    assert attachment_from_path(path) == given
    text = b64encode(data).decode()
    assert kind.from_base64(text[:8] + "\n" + text[8:], name="given") == given
    assert kind.from_base64(f"DATA:whatever;base64,{text}", name="given") == given
    assert attachment_from_base64(f"data:{media_type};charset=utf-8;base64,{text}", name="given") == given


def test_the_bytes_count_more_than_what_is_claimed():
    assert Image.from_bytes(png(), "image/jpeg").media_type == "image/png"


def test_of_text_the_claim_or_the_name_says_which_it_is():
    assert Document(b"a,b", "text/CSV; charset=utf-8").media_type == "text/csv"
    assert Document(b"# A", name="a.MD").media_type == "text/markdown"
    assert Document(b"{}", "application/json").media_type == "text/plain"


def test_a_name_is_one_short_line():
    assert Image(png(), name=f"a\n b {'c' * 200}").name == f"a b {'c' * 96}"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Image(b""), "This image is empty; give one with something in it."),
        (
            lambda: Image(b"hello", name="a.txt"),
            f"a.txt is text/plain, which isn't {PICTURE}; pass it as Document.",
        ),
        (lambda: Image(PDF), f"This image is application/pdf, which isn't {PICTURE}; pass it as Document."),
        (lambda: Document(png(), name="a.png"), "a.png is image/png, which isn't a PDF or a text; pass it as Image."),
        (
            lambda: Image(b"\0\1", "image/heic"),
            f"This image (image/heic) isn't {PICTURE}; convert it to one first.",
        ),
        (lambda: Audio(b"RIFF\0\0\0\0AVI "), "This recording isn't a WAV, MP3, Ogg or FLAC recording; convert it to one first."),
        (lambda: Document(b"Gr\xf6\xdfe"), "This document isn't a PDF or a text; convert it to one first."),
        (lambda: Document(b"abc\xc3"), "This document isn't a PDF or a text; convert it to one first."),
        (lambda: Document(b"a\0b"), "This document isn't a PDF or a text; convert it to one first."),
        (lambda: Image("x"), "Image takes bytes, not str: Image.from_path reads a file, from_base64 reads Base64."),
        (
            lambda: Image(bytes(52_428_800), name="big.png"),
            "big.png has 52,428,800 bytes; images may have at most 20,971,520. Make it smaller.",
        ),
        (lambda: Image.from_base64(b"AAAA"), "Base64 is text, not bytes; Image.from_bytes takes the bytes themselves."),
        (lambda: Image.from_base64("!!"), "This image isn't Base64 (Only base64 data is allowed); encode its bytes again."),
        (lambda: Image.from_base64("ü"), "This image isn't Base64 (string argument should contain only ASCII characters); encode"),
        (lambda: Image.from_base64("data:image/png,x", name="a"), "a is a data: URL without Base64; write data:TYPE;base64,DATA."),
        (
            lambda: Audio.from_base64("A" * 40_000_000),
            "has 30,000,000 bytes; recordings may have at most 26,214,400.",
        ),
        (lambda: attachment_from_bytes(b"\0\1", "image/heic"), f"isn't {PICTURE}"),
        (lambda: attachment_from_bytes(b"\0\1", "video/mp4"), "(video/mp4) isn't a PDF or a text"),
        (lambda: Image.from_path("no/such.png"), "There is no file no/such.png."),
        (lambda: Image.from_path("a\0b"), "is no path of a file."),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence_that_says_what_to_do(make, words):
    with pytest.raises(BadMedia) as refused:
        make()
    assert words in str(refused.value)
    assert isinstance(refused.value, SettingsError | TreadleError)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.png", b"This is no image.", f"a.png isn't {PICTURE}, whatever its name says; convert it to one, or rename it if it is"),
        ("a.HEIC", b"\0\1", f"a.HEIC isn't {PICTURE}, whatever its name says; convert it to one."),
        ("a.m4a", b"\0\1", "a.m4a isn't a WAV, MP3, Ogg or FLAC recording, whatever its name says; convert it to one."),
        ("a.exe", b"\0\1", "a.exe isn't a PDF or a text; convert it to one first."),
        ("a.png", b"", "a.png is empty"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path, name, data, words):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(BadMedia) as refused:
        attachment_from_path(tmp_path / name)
    assert str(refused.value).startswith(words)


def test_another_image_or_a_document_may_have_any_name(tmp_path):
    for name, data, kind in (("a.jpg", png(), Image), ("a.png", PDF, Document), ("a.xyz", b"words", Document)):
        (tmp_path / name).write_bytes(data)
        assert type(attachment_from_path(tmp_path / name)) is kind


def test_only_regular_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        (tmp_path / "link").symlink_to("/dev/zero")
        for name in ("pipe", "socket", "link"):
            with pytest.raises(BadMedia, match="no regular file, so it isn't read"):
                Image.from_path(tmp_path / name)
    with pytest.raises(BadMedia, match="is a folder; name a file in it"):
        Image.from_path(tmp_path)
    with pytest.raises(BadMedia, match="can't be read: Not a directory"):
        attachment_from_path(tmp_path / "pipe" / "a.png")


def test_a_file_that_is_too_large_is_not_read_at_all(tmp_path):
    with (tmp_path / "huge.png").open("wb") as file:
        file.truncate(1 << 40)  # more than any memory
    with pytest.raises(BadMedia, match=r"huge.png has 1,099,511,627,776 bytes; images may have at most"):
        Image.from_path(tmp_path / "huge.png")


def test_they_are_values_that_never_change_and_never_show_their_bytes():
    image = Image(png(), name="a.png")
    same, other = Image(png(), name="a.png"), Image(png(), name="b.png")
    assert image == same
    assert len({image, same, other}) == 2
    assert image != "a.png"
    assert pickle.loads(pickle.dumps(image)) == image
    with pytest.raises(AttributeError, match="make another"):
        image.name = "b.png"
    with pytest.raises(AttributeError, match="make another"):
        del image.name
    assert (str(image), repr(image)) == ("[image a.png]", f"Image('a.png', image/png, {len(png())} bytes)")
    assert repr(Document(b"abc")) == "Document(text/plain, 3 bytes)"
    with pytest.raises(TypeError):  # nothing that encodes values writes them out by accident
        msgspec.json.encode({"shown": image})


def test_what_a_journal_keeps_becomes_the_same_again():
    for given in (Image(png(), name="a.png"), Document(b"# A", "text/markdown", "a"), Audio(wav())):
        media = Media(given.media_type, "hash", len(given.data), given.name)
        assert (media.label, media.kind, media.is_text) == (given.label, given.kind, given.media_type == "text/markdown")
        assert attachment_of(media, given.data) == given
