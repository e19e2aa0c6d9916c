"""Treadle's benchmark: what the engine costs, as a multiple of a hand-written loop.

Not part of the package and never imported by it. Run `python -m bench` from the root of the
repository; README.md says how to read the result.
"""
