"""What a command's exit says. `treadle --help` and docs/cli.md explain them."""

FINE = 0
FAILED = 1
USAGE = 2
WAITING = 3
INTERRUPTED = 130
UNREAD = 141
