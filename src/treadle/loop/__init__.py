"""The rules of a run, as pure functions: entries in, state out, what to do next. No I/O, no clock."""
