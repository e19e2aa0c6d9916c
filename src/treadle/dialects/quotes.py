"""Typographic quotes that models write in place of JSON's plain ones. Any of a kind may close what another of it opened."""

DOUBLE_QUOTES = "\u201c\u201d\u201e\u201f"
SINGLE_QUOTES = "\u2018\u2019\u201a\u201b"
