"""One small course, written in every format by the programs people use, and a few ways to ask what was read."""

import io
import json
from pathlib import Path

import msgspec
from docx import Document as Word
from fpdf import FPDF

from treadle.assistants.courses.material.course_types import CourseFileInfo
from treadle.assistants.courses.material.reader import CourseReader

TITLE, LINK, TEACHER = "Bread at home", "https://example.org/bread", "Ada Baker"
LESSONS = (
    (0, "Welcome", "https://example.org/bread/0", "Hello and welcome. In this course we bake a loaf of bread in any kitchen."),
    (1, "Flour and water", "", "Flour is milled grain. Strong flour holds more water, because it has more gluten in it."),
    (2, "Shaping the loaf", "https://example.org/bread/2", "A tight skin keeps the loaf round. Turn it until it is smooth."),
)  # fmt: skip


def read(source: str, data: bytes | str, **settings):
    """The document in a file."""
    return CourseReader(**settings).read(source, data if isinstance(data, bytes) else data.encode())


def course(document) -> CourseFileInfo:
    """What a document says of its course."""
    return msgspec.convert(document.about, CourseFileInfo)


def numbers(document):
    """The lessons of a course: numbers and titles."""
    return [(lesson.number, lesson.title) for lesson in course(document).lessons]


def said(document, lesson) -> str:
    """What is said in one lesson, in one line."""
    return " ".join(" ".join(each.text.split()) for each in document.passages if each.tags.get("lesson") == lesson)


def lines():
    """The course line by line, as the text format has it; None where a paragraph ends."""
    yield from (f"Course Title: {TITLE}", f"Course Link: {LINK}", f"Course Instructor: {TEACHER}", None)
    for number, title, link, text in LESSONS:
        yield f"Lesson {number}: {title}"
        if link:
            yield f"Lesson Link: {link}"
        yield text
        yield None


def text() -> bytes:
    return "\n".join(line or "" for line in lines()).encode()


def markdown() -> bytes:
    parts = [f"# {TITLE}\n\nCourse Link: {LINK}  \n**Course Instructor:** {TEACHER}\n"]
    for number, title, link, words in LESSONS:
        parts.append(f"## Lesson {number}: {title}\n" + (f"Lesson Link: <{link}>\n" if link else "") + f"\n{words}\n")
    return "\n".join(parts).encode()


def html() -> bytes:
    rows = [f"<h1>{TITLE}</h1><p>Course Link: <a href='{LINK}'>here</a><br>Course Instructor: <b>{TEACHER}</b></p>"]
    for number, title, link, words in LESSONS:
        rows.append(f"<section><h2>Lesson {number}: {title}</h2>")
        rows.append(f"<p>Lesson Link: <a href='{link}'>{link}</a></p>" if link else "")
        rows.append(f"<p>{words}</p></section>")
    return f"<!doctype html><html><head><title>A site</title></head><body>{''.join(rows)}</body></html>".encode()


def word() -> bytes:
    document = Word()
    document.add_heading(TITLE, level=0)
    document.add_paragraph(f"Course Link: {LINK}")
    document.add_paragraph(f"Course Instructor: {TEACHER}")
    for number, title, link, words in LESSONS:
        document.add_heading(f"Lesson {number}: {title}", level=1)
        if link:
            document.add_paragraph(f"Lesson Link: {link}")
        document.add_paragraph(words)
    return saved(document)


def saved(document) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def pdf(pages=None, title: str = "") -> bytes:
    """A PDF of some pages, each of some paragraphs; the course, a lesson to a page, unless others are given."""
    document = FPDF()
    document.set_font("helvetica", size=12)
    if title:
        document.set_title(title)
    for page in pages if pages is not None else paged():
        document.add_page()
        for paragraph in page:
            document.multi_cell(0, 6, paragraph, new_x="LMARGIN", new_y="NEXT")
            document.ln(4)
    return bytes(document.output())


def paged():
    page = []
    for line in lines():
        if line and line.startswith("Lesson ") and "Link" not in line:
            yield page
            page = []
        if line:
            page.append(line)
    yield page


def srt() -> bytes:
    return "\n".join(
        f"{number}\n{_time(start, ',')} --> {_time(start + 3, ',')}\n{line}\n" for number, start, line in _cues()
    ).encode()


def vtt() -> bytes:
    return (
        "WEBVTT\n\n" + "\n".join(f"{_time(start, '.')} --> {_time(start + 3, '.')}\n{line}\n" for _, start, line in _cues())
    ).encode()


def _cues():
    return [(number, 4 * number, line) for number, line in enumerate([line for line in lines() if line])]


def _time(seconds: int, mark: str) -> str:
    return f"00:{seconds // 60:02}:{seconds % 60:02}{mark}000"


def notebook() -> bytes:
    cells = [cell("markdown", f"# {TITLE}\n\nCourse Link: {LINK}\n\nCourse Instructor: {TEACHER}")]
    for number, title, link, words in LESSONS:
        cells.append(cell("markdown", f"## Lesson {number}: {title}" + (f"\n\nLesson Link: {link}" if link else "")))
        cells.append(cell("markdown", words))
    return a_notebook(*cells)


def cell(kind: str, source: str, **more):
    code = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source, **code, **more}


def a_notebook(*cells, **metadata) -> bytes:
    about = {"kernelspec": {"name": "python3", "language": "python"}, **metadata}
    return json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": about, "cells": cells}).encode()


COURSES = {
    "bread.txt": text, "bread.md": markdown, "bread.html": html, "bread.docx": word,
    "bread.pdf": pdf, "bread.srt": srt, "bread.vtt": vtt, "bread.ipynb": notebook,
}  # fmt: skip


def write_all(folder: Path) -> None:
    """The course in every format, as files."""
    for name, make in COURSES.items():
        (folder / name).write_bytes(make())
