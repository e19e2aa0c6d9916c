"""Bugs planted in modules of real packages: how many `treadle debug` fixes and verifies, and what it claims wrongly."""
