import msgspec
import pytest

from assistants.reading.outline import samples
from treadle.assistants.reading.outline.languages import language_names
from treadle.assistants.reading.outline.shallow_tree import build_shallow_tree, measure_outline


@pytest.mark.parametrize("language", language_names())
def test_the_shallow_tree_is_much_smaller_and_its_ranges_are_right(language: str):
    text = samples.BY_LANGUAGE[language]
    measured = measure_outline(text, language)
    assert measured.full_ast_node_count > 3 * measured.shallow_ast_node_count
    assert measured.node_reduction_ratio == round(1 - measured.shallow_ast_node_count / measured.full_ast_node_count, 4)
    assert measured.integrity_checks_passed == measured.integrity_checks_total > 0
    assert measured.integrity_score == 100.0
    assert 0 <= measured.comment_retention_score <= 100


def test_sizes_and_tokens_are_counted():
    text = samples.PYTHON
    measured = measure_outline(text, "python")
    assert measured.raw_source_bytes == len(text.encode())
    assert measured.json_bytes == len(msgspec.json.encode(build_shallow_tree(text, "python")))
    assert measured.context_compression_ratio == round(measured.raw_source_bytes / measured.json_bytes, 4)
    assert measured.full_ast_estimated_tokens == round(measured.full_ast_node_count * 3.5)
    assert measured.shallow_ast_estimated_tokens == round(measured.shallow_ast_node_count * 3.5)


def test_comments_kept_are_a_share_of_declarations():
    assert measure_outline("// a\nfunction f() {}\n\nfunction g() {}\n", "javascript").comment_retention_score == 50.0
    assert measure_outline('def f():\n    """Does f."""\n\n\ndef g():\n    pass\n', "python").comment_retention_score == 50.0
    assert measure_outline("1;\n", "javascript").comment_retention_score == 100.0


def test_an_empty_file_has_nothing_wrong():
    measured = measure_outline("", "python")
    assert (measured.integrity_score, measured.comment_retention_score, measured.integrity_checks_total) == (100.0, 100.0, 0)
