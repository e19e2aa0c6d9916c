"""Texts cut into passages: Markdown by its headings, YAML by its keys, anything else by paragraphs and sentences. Pure.

Every piece is a slice of its text, with the lines it comes from; together they hold all of it, and none is over the size.
"""
