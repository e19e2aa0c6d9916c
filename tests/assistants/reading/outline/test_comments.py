import pytest

from treadle.assistants.reading.outline.comments import clean_comments, first_doc_line, first_paragraph, first_sentence


@pytest.mark.parametrize(
    ("comments", "said"),
    [
        (["# one", "# two"], "one\ntwo"),
        (["// one"], "one"),
        (["/// one"], "one"),
        (["//! one"], "one"),
        (["/* one */"], "one"),
        (["/**\n * one\n *\n * two\n */"], "one\n\ntwo"),
        (["/*! one\n    two */"], "one\ntwo"),
        (["/********\n * one\n ********/"], "one"),
        (["# ------", "# one", "# ======"], "one"),
        (["#!/bin/sh", "# -*- coding: utf-8 -*-", "# one  # noqa"], "one  # noqa"),
        (["// eslint-disable-next-line", "// one"], "one"),
        (["=begin\none\n=end"], "one"),
        ([], ""),
    ],
)
def test_a_comment_is_told_without_its_marks_and_what_is_for_tools(comments: list[str], said: str):
    assert clean_comments(comments) == said


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One. Two.", "One."),
        ("One", "One"),
        ("Goes on\nhere. Two.", "Goes on here."),
        ("One\n\nTwo", "One"),
        ("Says e.g. this. Two.", "Says e.g. this."),
        ("<summary>\nOne. Two.\n</summary>", "One."),
        ("See {@link Row}. Two.", "See Row."),
        ("One\n@param x two", "One"),
        ("@brief One. Two.", "One."),
        ("@param x", ""),
        ("", ""),
    ],
)
def test_the_first_sentence_stands_for_the_rest(text: str, sentence: str):
    assert first_sentence(text) == sentence


def test_the_first_line_with_words_is_taken():
    assert first_doc_line("\n\n   One.\n   Two.") == "One."
    assert first_doc_line("\n ") == ""


@pytest.mark.parametrize(
    ("text", "paragraph"),
    [
        ("One\ntwo.\n\nThree.", "One\ntwo."),
        ("Copyright 2020 Somebody\n\nOne.", ""),
        ("One.\n\nLicensed under MIT.", "One."),
        ("@file shelf.c\n\nOne.", "One."),
        ("@param x\n\nOne.", "One."),
        ("", ""),
    ],
)
def test_the_first_paragraph_of_a_file_is_not_about_rights(text: str, paragraph: str):
    assert first_paragraph(text) == paragraph
