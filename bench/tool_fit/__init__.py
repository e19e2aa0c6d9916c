"""Askings in people's own words: whether a small model decides to call a tool where one fits, and not to where none does."""
