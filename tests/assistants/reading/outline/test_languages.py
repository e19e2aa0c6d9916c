import pytest

from treadle.assistants.reading.outline.languages import canonical_language, detect_language, language_names


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("C++", "cpp"),
        ("c#", "csharp"),
        ("JS", "javascript"),
        ("jsx", "javascript"),
        ("ts", "typescript"),
        ("TSX", "tsx"),
        ("py", "python"),
        ("Golang", "go"),
        ("rs", "rust"),
        ("rb", "ruby"),
        ("kt", "kotlin"),
        (" Swift ", "swift"),
        (".php", "php"),
        ("cobol", None),
        ("", None),
    ],
)
def test_a_language_goes_by_all_its_names(name: str, known: str | None):
    assert canonical_language(name) == known


def test_every_language_goes_by_its_own_name():
    assert [canonical_language(name) for name in language_names()] == language_names()


@pytest.mark.parametrize(
    ("filename", "text", "language"),
    [
        ("a.py", "", "python"),
        ("src/App.JSX", "", "javascript"),
        ("C:\\src\\shelf.ts", "", "typescript"),
        ("shelf.d.ts", "", "typescript"),
        ("page.tsx", "", "tsx"),
        ("shelf.h", "int a;", "c"),
        ("shelf.h", "namespace a {\n}", "cpp"),
        ("shelf.h", "#include <vector>\n", "cpp"),
        ("shelf.hpp", "", "cpp"),
        ("Rakefile", "", "ruby"),
        ("build.gradle.kts", "", "kotlin"),
        ("tool", "#!/usr/bin/env python3.11\n", "python"),
        ("tool", "#!/usr/bin/env -S FOO=1 node --x\n", "javascript"),
        ("tool", "#! /usr/bin/ruby -w\n", "ruby"),
        ("tool", "#!/bin/sh\n", None),
        ("tool", "#!/usr/bin/env\n", None),
        ("page", "<?php echo 1;", "php"),
        ("notes.txt", "words", None),
        ("", "", None),
    ],
)
def test_a_files_language_is_told_by_its_ending_its_name_or_its_first_line(filename: str, text: str, language: str | None):
    assert detect_language(filename, text) == language
