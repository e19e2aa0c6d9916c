"""Figures about calls and requests, folded from the journal into tables beside it; what a run says in figures is `loop.facts`.

The tables are never the truth: they are kept up when somebody asks (`keeping`), and can be made again from the journal.
"""
