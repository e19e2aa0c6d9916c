"""The rules of a run, as pure functions: entries in, state out, the next step. No I/O, no clock."""
