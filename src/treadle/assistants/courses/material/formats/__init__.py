"""Parsers that convert files of every format to `Material`. Each format has a module; its library is an optional dependency."""
