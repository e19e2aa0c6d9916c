"""Splits texts into passages: Markdown by its headings, YAML by its keys, anything else by paragraphs and sentences. Pure.

Every piece is a slice of its text, with the lines it comes from; together they cover all of it, and none exceeds the size.
"""
