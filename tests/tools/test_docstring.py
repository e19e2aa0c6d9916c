from hypothesis import given
from hypothesis import strategies as st

from treadle.tools.docstring import Docstring, read_docstring


def test_an_empty_docstring_says_nothing():
    assert read_docstring("") == Docstring("", {}, "")


def test_the_summary_is_everything_before_the_parameters_dedented():
    read = read_docstring(
        """How many are on the shelf.

        Counts only what is unpacked:

            boxes don't count

        :param item: article number
        """
    )
    assert read.summary == "How many are on the shelf.\n\nCounts only what is unpacked:\n\n    boxes don't count"
    assert read.parameters == {"item": "article number"}


def test_sphinx_fields_may_name_a_type_and_go_on_below():
    read = read_docstring(
        """Order something.

        :param str item: article number,
            as printed
        :param count: how many
        without an indent
        :type count: int
        :raises ValueError: never
            and this is about the error
        :returns: the order's
            number
        :rtype: str
        """
    )
    assert read.parameters == {"item": "article number, as printed", "count": "how many without an indent"}
    assert read.returns == "the order's number"


def test_a_paragraph_after_sphinx_fields_belongs_to_none_of_them():
    read = read_docstring(":param a: one\n\n    still one\n\nSomething else.")
    assert read.parameters == {"a": "one still one"}


def test_words_between_colons_are_no_field():
    text = "See :class: and :param: for more.\n:param: nothing\n:note: nothing\nratio 1:2:3"
    assert read_docstring(text) == Docstring(text, {}, "")


def test_google_sections_with_types_and_continuations():
    read = read_docstring(
        """Order something.

        Args:
            item (str): article number,
                as printed: on the label
            count (dict[str, int], optional): how many
            *rest: more
            **others: even more
            bare:
                described below

        Returns:
            str: the order's
            number

        Raises:
            ValueError: never
        """
    )
    assert read.summary == "Order something."
    assert read.parameters == {
        "item": "article number, as printed: on the label",
        "count": "how many",
        "rest": "more",
        "others": "even more",
        "bare": "described below",
    }
    assert read.returns == "str: the order's number"


def test_google_headings_by_any_usual_name():
    for heading in ("Args", "Arguments", "Parameters", "Params", "Attributes", "Keyword Args"):
        assert read_docstring(f"Do.\n\n{heading}:\n  a: one").parameters == {"a": "one"}


def test_a_google_line_that_is_no_item_goes_on_with_the_item_before_it():
    assert read_docstring("Do.\n\nArgs:\n    a: one\n    and two\n").parameters == {"a": "one and two"}


def test_google_text_after_the_section_belongs_to_nothing():
    read = read_docstring("Do.\n\nArgs:\n    a: one\nNot about a.\n")
    assert read.parameters == {"a": "one"}


def test_google_items_indented_unevenly():
    assert read_docstring("Do.\n\nArgs:\n    a: one\n  b: two\n").parameters == {"a": "one", "b": "two"}


def test_tabs_and_spaces_mixed():
    assert read_docstring("Do.\n\n\tArgs:\n\t    a: one\n            \tmore\n\t    b: two").parameters == {
        "a": "one more",
        "b": "two",
    }


def test_a_docstring_that_begins_with_its_parameters():
    read = read_docstring("Args:\n    a: one\n    b: two\n\n    Returns:\n        three\n    ")
    assert read == Docstring("", {"a": "one", "b": "two"}, "three")


def test_numpy_sections():
    read = read_docstring(
        """Order something.

        Parameters
        ----------
        item : str
            Article number,
            as printed.
        width, height : int, optional
            The size.
        *rest
            More.

        Returns
        -------
        str
            The order's number.

        Notes
        -----
        item
            Nobody asked.
        """
    )
    assert read.summary == "Order something."
    assert read.parameters == {
        "item": "Article number, as printed.",
        "width": "The size.",
        "height": "The size.",
        "rest": "More.",
    }
    assert read.returns == "The order's number."


def test_numpy_returns_with_a_type_only():
    assert read_docstring("Do.\n\nReturns\n-------\nint\n").returns == "int"


def test_a_numpy_heading_that_is_about_something_else_stays_in_the_summary():
    assert read_docstring("Do.\n\nBackground\n----------\nLong ago.").summary == "Do.\n\nBackground\n----------\nLong ago."


def test_styles_mixed_in_one_text():
    read = read_docstring("Do.\n\nArgs:\n    a: one\n    :param b: two\n\nReturns:\n    three\n")
    assert read == Docstring("Do.", {"a": "one", "b": "two"}, "three")


def test_a_heading_with_nothing_below_it():
    assert read_docstring("Do.\n\nArgs:") == Docstring("Do.", {}, "")


@given(st.text(alphabet=" \n\t:-*Aadgprsn()Rtuem", max_size=200))
def test_any_text_can_be_read(text: str):
    read = read_docstring(text)
    assert read.summary == read.summary.strip()
    assert all(name == name.strip() for name in read.parameters)
