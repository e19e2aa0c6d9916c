"""The fault harness: processes are killed, frozen and starved while they work, and what they did outside is counted.

`python -m bench.faults --help`; its result is in `bench/results/faults*.md`, what it means in `docs/faults.md`.
"""
