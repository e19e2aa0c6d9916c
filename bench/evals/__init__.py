"""Replays of kept runs: how long they take, and whether planted regressions are found and none is invented."""
