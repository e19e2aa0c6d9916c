"""What each format gives: text as it is read by people, places in it, and a sentence for files that are broken."""

import io
import json
import socket
import struct
import subprocess
import sys
import zipfile

import pytest
from docx import Document as Word
from docx.shared import Inches
from pypdf import PdfReader, PdfWriter

from assistants.courses.material.sample_files import a_notebook, cell, course, numbers, pdf, read, saved, word
from treadle.assistants.courses.material.format_registry import parse_material
from treadle.assistants.courses.material.formats.pdf import MAX_PAGES
from treadle.passages import UnreadableDocument


def text_in(source, data):
    return parse_material(source, data if isinstance(data, bytes) else data.encode()).text


OPENED = "from treadle.assistants.courses.material.format_registry import parse_material"


# text


def test_text_may_be_utf_16_and_have_any_line_ends():
    document = read("x.txt", "Course Title: Käse\r\n\r\nLesson 0: Ä\r\nText.\rMore.".encode("utf-16"))
    assert (document.title, numbers(document)) == ("Käse", [(0, "Ä")])
    assert [(each.text, each.first_line, each.last_line) for each in document.passages] == [("Text.\nMore.", 4, 5)]


def test_control_characters_dont_reach_a_passage():
    assert text_in("x.txt", "a\x1b[31mb\x85c\td") == "a [31mb c\td"


# PDF


def protected(password: str, owner: str = "") -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf([["Some text in here."]]))))
    writer.encrypt(password, owner or None, algorithm="AES-256")
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def test_lines_of_a_pdf_are_joined_to_paragraphs_that_go_over_pages():
    sentence = "The quick brown fox jumps over the lazy dog and goes home to sleep for the rest of the day while it rains "
    found = parse_material(
        "x.pdf", pdf([["Intro", sentence * 2 + "until"], ["evening comes. " + sentence + "again.", "- an item", "- another"]])
    )
    paragraphs = found.text.strip().split("\n\n")
    assert paragraphs == [
        "Intro",
        f"{sentence * 2}until evening comes. {sentence}again.",
        "- an item",
        "- another",
    ]
    assert [at for _, at in found.anchors] == ["page 1", "page 2"]
    assert found.text[found.anchors[1][0] :].startswith("evening comes.")


def test_words_divided_at_the_end_of_a_line_are_one_again():
    assert "a hyphenation here" in text_in("x.pdf", pdf([["this is a hyphen-\nation here and then it goes on"]]))
    assert "an ELEMENT of it" in text_in("x.pdf", pdf([["this is an ELE-\nMENT of it and then it goes on"]]))
    assert "In Baden-Württemberg" in text_in("x.pdf", pdf([["In Baden-\nWürttemberg it is so, as far as we know of it"]]))


def test_dots_that_lead_to_a_page_are_one_mark():
    assert text_in("x.pdf", pdf([["Trees . . . . . . . . . 12 and Roots........13"]])).strip() == "Trees … 12 and Roots … 13"


def test_page_numbers_and_what_every_page_repeats_are_left_out():
    pages = [
        ["Baking for all", f"Page {n} says something of its own, which is {'very ' * n}good.", f"{n} of 4"] for n in range(1, 5)
    ]
    found = text_in("x.pdf", pdf(pages))
    assert found.count("Baking for all") == 1
    assert "of 4" not in found
    assert found.count("says something of its own") == 4


def test_what_begins_a_lesson_on_every_page_is_no_repeated_line():
    document = read("x.pdf", pdf([["Lesson 1: Same", f"Text {number} is here."] for number in "abc"]))
    assert numbers(document) == [(1, "Same")] * 3


def test_a_line_in_a_paragraph_of_a_pdf_begins_no_lesson():
    long = "We go on with what was said before in this long line of text, which follows from the one\nLesson 3: Branches of it all"
    assert numbers(read("x.pdf", pdf([[long]]))) == []


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Baking for all", "Baking for all"),
        ("Microsoft Word - bread.docx", "Rye bread"),
        ("bread.indd", "Rye bread"),
        ("untitled", "Rye bread"),
        ("", "Rye bread"),
        ("x" * 150, "Rye bread"),
    ],
)
def test_the_title_of_a_pdf_is_its_own_if_a_person_gave_it(title, shown):
    assert read("01_rye-bread.pdf", pdf([["Some text."]], title=title)).title == shown


def test_a_pdf_that_anyone_may_read_is_read_though_it_is_encrypted():
    assert text_in("x.pdf", protected("", "owner")).strip() == "Some text in here."


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (protected("secret"), "protected by a password"),
        (pdf([[], []]), r"no text in it \(a scan\?\)"),
        (pdf()[:300], "it is no whole PDF|can't be read as .pdf"),
        (b"%PDF-1.7\n" + bytes(range(256)) * 20, "it is no whole PDF"),
        (b"hello", "it is no whole PDF"),
    ],
)
def test_a_pdf_that_cant_be_read_says_why(data, reason):
    with pytest.raises(UnreadableDocument, match=reason):
        read("x.pdf", data)


def test_a_pdf_of_too_many_pages_is_left_out():
    writer = PdfWriter()
    for _ in range(MAX_PAGES + 1):
        writer.add_blank_page(10, 10)
    file = io.BytesIO()
    writer.write(file)
    with pytest.raises(UnreadableDocument, match="over 3,000 pages"):
        read("x.pdf", file.getvalue())


def test_nothing_of_a_broken_file_is_told_to_the_terminal():
    code = f"import sys; {OPENED}; print(parse_material('x.pdf', sys.stdin.buffer.read()).text)"
    broken = pdf([["Some text."]]).replace(b"startxref\n", b"startxref\n9")
    done = subprocess.run([sys.executable, "-c", code], input=broken, capture_output=True, check=True)
    assert (done.stdout.strip(), done.stderr) == (b"Some text.", b"")


@pytest.mark.parametrize(
    ("package", "source"),
    [
        ("pypdf", "x.pdf"),
        ("mammoth", "x.docx"),
        ("bs4", "x.html"),
        ("markdownify", "x.html"),
        ("pysubs2", "x.srt"),
        ("nbformat", "x.ipynb"),
    ],
)
def test_a_package_that_isnt_installed_is_named(package, source):
    code = (
        f"import sys; sys.modules[{package!r}] = None; {OPENED}\n"
        f"try: parse_material({source!r}, b'data')\nexcept Exception as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip().endswith(f"needs the package {package}: pip install 'treadle[courses]'")


def test_a_pdf_that_can_be_decrypted_says_what_that_needs():
    code = (
        f"import sys; sys.modules['cryptography'] = sys.modules['Crypto'] = None; {OPENED}\n"
        "try: parse_material('x.pdf', sys.stdin.buffer.read())\nexcept Exception as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], input=protected("", "owner"), capture_output=True, check=True)
    assert b"needs the package cryptography" in done.stdout


# Word


def test_a_word_document_keeps_headings_lists_tables_and_links_of_its_text():
    document = Word()
    document.add_heading("Bread_and_*butter*", level=1)
    document.add_paragraph("One", style="List Bullet")
    document.add_paragraph("First", style="List Number")
    table = document.add_table(2, 2)
    for place, words in enumerate(("a", "b", "c", "d")):
        table.cell(place // 2, place % 2).text = words
    found = text_in("x.docx", saved(document))
    assert "# Bread_and_*butter*" in found
    assert "- One" in found
    assert "1. First" in found
    assert "| c | d |" in found


def test_pictures_of_a_word_document_are_left_out():
    pixel = picture()
    document = Word()
    document.add_paragraph("Before.")
    document.add_picture(io.BytesIO(pixel), width=Inches(1))
    document.add_paragraph("After.")
    assert text_in("x.docx", saved(document)).split() == ["Before.", "After."]


def test_a_picture_elsewhere_is_never_asked_for():
    document = Word()
    document.add_paragraph("Text.")
    document.add_picture(io.BytesIO(picture()))
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        place = f'"http://127.0.0.1:{server.getsockname()[1]}/a.png" TargetMode="External"'.encode()
        linked = repacked(saved(document), "word/document.xml", lambda xml: xml.replace(b"r:embed", b"r:link"))
        linked = repacked(linked, "word/_rels/document.xml.rels", lambda xml: xml.replace(b'"media/image1.png"', place))
        assert text_in("x.docx", linked).strip() == "Text."
        with pytest.raises(BlockingIOError):
            server.accept()  # nobody has called


def picture() -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (2, 2)).save(file, "PNG")
    return file.getvalue()


def repacked(data: bytes, name: str, change) -> bytes:
    """A packed file with one of its files changed."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for each in old.namelist():
            new.writestr(each, change(old.read(each)) if each == name else old.read(each))
    return file.getvalue()


def packed(**files: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in files.items():
            new.writestr(name.replace("__", "/").replace("_xml", ".xml"), data)
    return file.getvalue()


def claims_to_be_large(data: bytes) -> bytes:
    """A packed file whose list says that its picture has 300 MB."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w") as new:
        for each in old.namelist():
            new.writestr(each, old.read(each))
        new.writestr("word/media/image9.png", b"12345")
    whole = bytearray(file.getvalue())
    at = whole.rindex(b"PK\x01\x02", 0, whole.rindex(b"word/media/image9.png"))
    whole[at + 24 : at + 28] = struct.pack("<I", 300_000_000)
    return bytes(whole)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PK\x03\x04 and nothing", "no Word document, or not a whole one"),
        (packed(a=b"b"), "it is no Word document"),
        (packed(word__document_xml=b"<not closed"), "can't be read as .docx"),
        (packed(word__document_xml=b" " * 60_000_000), "too large when unpacked"),
        (claims_to_be_large(word()), "too large when unpacked"),
        (word()[:2_000], "no Word document, or not a whole one"),
    ],
)
def test_a_word_document_that_cant_be_read_says_why(data, reason):
    with pytest.raises(UnreadableDocument, match=reason):
        read("x.docx", data)


# HTML


def test_a_page_is_what_people_read_of_it():
    page = """<!doctype html><html><head><title>T</title><style>p {}</style></head><body>
      <nav><ul><li><a href="/">Home</a></li></ul></nav><script>alert("x")</script><template><p>Later</p></template><!-- hidden -->
      <h2>Part</h2><p>Some <b>bold</b> text, <a href="https://e.org/a_b">a link</a>, <a href="javascript:x()">a trap</a> and
      <img src="data:image/png;base64,AAAA" alt="a loaf"><img src="https://e.org/spy.png">.</p>
      <pre><code>git  log</code></pre><table><tr><td>a</td><td>b</td></tr></table>
      <footer>Imprint <nav>x</nav></footer></body></html>"""
    found = text_in("x.HTML", page)
    assert "## Part\n\nSome **bold** text, [a link](https://e.org/a_b), a trap and" in found
    assert "a loaf" in found
    assert "```\ngit  log\n```" in found
    assert "| a | b |" in found
    for gone in ("Home", "alert", "Later", "hidden", "data:", "spy", "Imprint", "p {}"):
        assert gone not in found


def test_a_page_with_a_main_part_is_that_part():
    page = "<h1>The site</h1><p>Menu</p><main><h1>Trees</h1><p>Text.</p></main><p>Advice</p>"
    assert text_in("x.html", page).split() == ["#", "Trees", "Text."]
    assert "Menu" in text_in("x.html", page.replace("<h1>Trees</h1>", ""))
    assert "Menu" in text_in("x.html", page + "<main>More</main>")


@pytest.mark.parametrize(
    "data",
    [
        '<meta charset="iso-8859-1"><p>Käse – “gut”'.encode("cp1252"),
        '<?xml version="1.0" encoding="windows-1252"?>\n<html xmlns="x"><p>Käse – “gut”</p></html>'.encode("cp1252"),
        "<p>Käse – “gut”".encode(),
        "<p>Käse – “gut”".encode("utf-8-sig"),
        "<p>Käse – “gut”".encode("utf-16"),
        '<meta charset="utf-16"><p>Käse – “gut”'.encode(),
        '<meta charset="no-such-thing"><p>Käse – “gut”'.encode(),
        '<meta charset="utf-8"><p>Käse – “gut”'.encode("cp1252"),
        "Käse – “gut”".encode(),
    ],
)
def test_a_page_is_read_in_its_own_encoding(data):
    assert text_in("x.htm", data).strip() == "Käse – “gut”"


def test_bytes_that_no_encoding_has_are_shown_as_such():
    assert text_in("x.html", b"<p>a\x81b").strip() == "a\ufffdb"


def test_a_title_with_tags_in_it_stays_as_it_was_written():
    assert read("x.html", "<title>Use <b>bold</b> &amp; &lt;i&gt;</title><p>Text.").title == "Use <b>bold</b> & <i>"


def test_a_page_may_look_like_the_name_of_a_file():
    assert text_in("x.html", "page.html").strip() == "page.html"


def test_a_page_that_is_nested_too_deeply_says_so():
    with pytest.raises(UnreadableDocument, match="nested too deeply"):
        read("x.html", "<div>" * 5_000 + "text")


# subtitles


def test_subtitles_with_marks_and_line_ends_of_windows_are_read():
    data = (
        "1\n00:00:01,000 --> 00:00:03,000\nWe begin\nwith <i>flour</i>.\n\n2\n00:00:03,100 --> 00:00:05,000\n{\\an8}Then water.\n\n"
    )
    found = parse_material("x.srt", data.replace("\n", "\r\n").encode("utf-8-sig"))
    assert found.text.strip() == "We begin with flour. Then water."
    assert found.anchors == ((0, "00:00:01"), (21, "00:00:03"))


def test_captions_that_roll_are_said_once():
    cues = ["one two", "one two", "one two\nthree four", "three four", "three four\nfive", "five six", "five six"]
    data = "\n".join(f"{n}\n00:00:{n:02},000 --> 00:00:{n + 1:02},000\n{cue}\n" for n, cue in enumerate(cues))
    assert text_in("x.srt", data).strip() == "one two three four five six"


def test_what_is_said_again_later_is_said_twice():
    data = "1\n00:00:01,000 --> 00:00:02,000\nYes.\n\n2\n00:00:03,000 --> 00:00:04,000\nYes.\n"
    assert text_in("x.srt", data).strip() == "Yes. Yes."


def test_a_pause_or_another_speaker_begins_a_paragraph():
    data = """WEBVTT - a title
Kind: captions

STYLE
::cue { color: red }

NOTE nothing to read --
here

intro-1
00:01.000 --> 00:02.000 align:start position:0%
<v Ada>Hello, <c.yellow>all</c>.

intro-2
00:02.000 --> 00:03.000
<v Ada><00:02.100>How are you?

NOTE
Not this either.

00:03.000 --> 00:04.000

01:00:09.000 --> 01:00:10.000
<v.loud Bob>I am List&lt;T&gt; &amp; <String>.</v>

01:00:20.000 --> 01:00:21.000
Nobody says C:\\New {x}.

01:00:21.000 --> 01:00:22.000
>> But I do.
- And I.
>>
"""
    found = parse_material("x.vtt", data.encode())
    assert found.text.strip().split("\n\n") == [
        "Ada: Hello, all. How are you?",
        "Bob: I am List<T> & <String>.",
        "Nobody says C:\\New {x}.",
        "But I do.",
        "And I.",
    ]
    assert [at for _, at in found.anchors] == ["00:00:01", "00:00:02", "01:00:09", "01:00:20", "01:00:21"]


def test_cues_are_told_in_the_order_of_their_times():
    data = "1\n00:00:05,000 --> 00:00:06,000\nthen.\n\n2\n00:00:03,000 --> 00:00:04,000\nFirst,\n"
    assert text_in("x.srt", data).strip() == "First, then."


def test_the_language_in_the_name_of_subtitles_is_no_part_of_the_title():
    data = "1\n00:00:01,000 --> 00:00:02,000\nHi.\n"
    assert read("rye_bread.en.srt", data).title == read("rye_bread.pt-BR.srt", data).title == "Rye bread"
    assert numbers(read("all/git/02 branches.en.srt", data)) == [(2, "Branches")]


@pytest.mark.parametrize(
    ("source", "data"),
    [
        ("x.srt", "just text"),
        ("x.vtt", "WEBVTT\n\nNOTE x"),
        ("x.srt", "1\n00:00:01,000 --> 00:00:02,000\n<b></b>\n"),
    ],
)
def test_subtitles_in_which_nothing_is_said_are_left_out(source, data):
    with pytest.raises(UnreadableDocument, match="no subtitles in it"):
        read(source, data)


# notebooks


def test_a_notebook_is_its_text_its_code_and_what_that_printed():
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["\x1b[31mred\x1b[0m\n", "line"]},
        {
            "output_type": "execute_result",
            "data": {"text/plain": "x" * 600, "text/html": "<table>"},
            "metadata": {},
            "execution_count": 1,
        },
        {"output_type": "display_data", "data": {"text/plain": "<Figure>", "image/png": "AAAA"}, "metadata": {}},
        {"output_type": "error", "ename": "E", "evalue": "e", "traceback": ["t"]},
    ]
    found = parse_material(
        "x.ipynb",
        a_notebook(
            cell("markdown", "# Title\n\n![](data:image/png;base64,AAAA)"),
            cell("code", ""),
            cell("code", "print('``` ``` ```')", outputs=outputs),
            cell("raw", "As it is."),
            title="Named",
        ),
    )
    assert found.text == (
        "# Title\n\n![]()\n\n````python\nprint('``` ``` ```')\n````\n\n```text\nred\nline\n```\n\n```text\n"
        + "x" * 499
        + "…\n```\n\nAs it is."
    )
    assert [at for _, at in found.anchors] == ["cell 1", "cell 3", "cell 4"]
    assert (found.title, found.text[found.anchors[2][0] :]) == ("Named", "As it is.")


def test_a_fence_that_a_cell_leaves_open_ends_with_it():
    document = read("x.ipynb", a_notebook(cell("markdown", "```\ncode"), cell("markdown", "## Lesson 1: One\n\nText.")))
    assert numbers(document) == [(1, "One")]


def test_code_that_prints_a_lesson_begins_none():
    assert numbers(read("x.ipynb", a_notebook(cell("markdown", "# T"), cell("code", "\nLesson 1: One\n\n## Lesson 2: Two")))) == []


def test_a_notebook_of_version_3_is_read():
    cells = [
        {"cell_type": "heading", "level": 1, "metadata": {}, "source": ["Old title"]},
        {
            "cell_type": "code",
            "language": "python",
            "metadata": {},
            "input": ["print(1)"],
            "prompt_number": 1,
            "outputs": [
                {"output_type": "stream", "stream": "stdout", "text": ["1"]},
            ],
            "collapsed": False,
        },
    ]
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [{"cells": cells, "metadata": {}}]}
    document = read("x.ipynb", json.dumps(old))
    assert document.title == "Old title"
    assert "print(1)" in document.passages[0].text
    assert "```text\n1\n```" in document.passages[-1].text


def test_halves_of_characters_dont_reach_a_passage():
    assert text_in("x.ipynb", a_notebook(cell("markdown", "a \ud800 b \U0001f35e"))) == "a \ufffd b 🍞"


def test_a_notebook_without_a_language_has_fences_without_one():
    assert text_in("x.ipynb", a_notebook(cell("code", "x"), kernelspec={}, language_info={})) == "```\nx\n```"
    assert text_in("x.ipynb", a_notebook(cell("code", "x"), kernelspec={}, language_info={"name": "r"})) == "```r\nx\n```"


def test_what_a_notebook_leaves_open_is_no_mistake():
    about = {"kernelspec": None, "language_info": None, "title": None}
    found = parse_material("x.ipynb", a_notebook(cell("code", None), cell("code", "x"), **about))
    assert (found.text, found.title) == ("```\nx\n```", "")


def test_of_what_a_cell_printed_only_the_beginning_is_kept():
    lines = [{"output_type": "stream", "name": "stdout", "text": f"{number:03} " + "x" * 300} for number in range(300)]
    shown = text_in("x.ipynb", a_notebook(cell("code", "run()", outputs=lines), cell("code", "again()", outputs=lines[:1])))
    first, _, second = shown.partition("```python\nagain()")
    printed = [block.removeprefix("text\n").removesuffix("\n") for block in first.split("```")[3::2]]
    assert [len(each) for each in printed] == [304] * 6 + [176]
    assert printed[6].startswith("006 x")
    assert printed[6].endswith("x…")
    assert "000 x" in second


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("no JSON", "no notebook"),
        ("[]", "no notebook"),
        ("{}", "no notebook"),
        ('{"nbformat": 9}', "no notebook"),
        ('{"nbformat": 4, "metadata": {}, "cells": {}}', "no cells|no notebook"),
        ('{"nbformat": 4, "cells": [3]}', "no notebook|can't be read"),
        ('{"nbformat": 3}', "no notebook"),
        ('{"nbformat": "x"}', "no notebook"),
    ],
)
def test_a_notebook_that_is_none_says_so(data, reason):
    with pytest.raises(UnreadableDocument, match=reason):
        read("x.ipynb", data)


def test_an_empty_notebook_is_empty():
    with pytest.raises(UnreadableDocument, match="empty"):
        read("x.ipynb", a_notebook(cell("markdown", " ")))


def test_the_head_of_a_converted_file_counts_too():
    document = Word()
    document.add_paragraph("Course Title: Rye_bread\nCourse Instructor: Ada")
    paragraph = document.add_paragraph()
    paragraph.add_run("Lesson 1: Bold").bold = True
    document.add_paragraph("Text.")
    read_again = read("x.docx", saved(document))
    assert (read_again.title, course(read_again).instructor) == ("Rye_bread", "Ada")
    assert numbers(read_again) == [(1, "Bold")]
