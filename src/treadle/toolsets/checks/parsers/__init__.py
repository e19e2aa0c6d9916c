"""Parsers of runner output: one module per format. Pure, in linear time, and without errors on any text."""
