import pytest

from treadle.assistants.reading.outline.rules import parse_literal


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("3", "number"),
        ("-1.5e3", "number"),
        ("0xFF_FF", "number"),
        ("10ULL", "number"),
        ("1_000_000u64", "number"),
        ("2.0f", "number"),
        ('"words"', "string"),
        ("'it\\'s'", "string"),
        ("b'raw'", "string"),
        ("`plain`", "string"),
        ('""', "string"),
        ('"a".freeze', "string"),
        ("true", "boolean"),
        ("False", "boolean"),
        ("None", "null"),
        ("nil", "null"),
        ("undefined", "undefined"),
        ("[]", "array"),
        ("{}", "object"),
        ("dict()", "object"),
        ("new Map()", "object"),
        ("vec![]", "array"),
    ],
)
def test_a_simple_value_is_told_as_written(text: str, kind: str):
    assert parse_literal(text) == (text, kind)


@pytest.mark.parametrize(
    "text", ["", "f(1)", "[1]", "a + 1", "1 + 1", "`${x}`", "$'{x}'", '"a" + "b"', '"' + "x" * 61 + '"', "x" * 90]
)
def test_any_other_value_is_left_out(text: str):
    assert parse_literal(text) == ("", "")


def test_a_string_of_sixty_characters_is_still_short():
    assert parse_literal('"' + "x" * 60 + '"')[1] == "string"
