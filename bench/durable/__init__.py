"""Durable runs under load, and for long: what a call costs with journal and audit, and whether anything grows that shouldn't.

`python -m bench.durable load` and `python -m bench.durable soak`. Processes that die are `bench.faults`.
"""
