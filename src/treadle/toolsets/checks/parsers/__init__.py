"""Parsers of runner output, by language. Pure, in linear time, and without errors on any text."""
