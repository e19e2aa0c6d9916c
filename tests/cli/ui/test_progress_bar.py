"""The bar of a download."""

from treadle.cli.ui.progress_bar import draw_bar


def test_a_bar_is_empty_at_first_and_full_at_the_end():
    assert draw_bar(0, 0) == draw_bar(0, 7) == "[........................]"
    assert draw_bar(7, 7) == "[########################]"
