"""Exit codes of commands. `treadle --help` and docs/cli.md explain them."""

OK = 0
FAILED = 1
USAGE = 2
WAITING = 3
INTERRUPTED = 130
BROKEN_PIPE = 141
TERMINATED = 143
