"""The effects of the other engines' workers: the same number, pause and file as in `bench.scale.program`."""

import os

EFFECTS = 3
PAUSE = 0.05  # seconds before an effect
POLL_SECONDS = 0.25


def write_effect(run_id: str, number: int) -> None:
    """Write an effect as one line."""
    file = os.open(os.environ["SCALE_EFFECTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, f"{run_id} {number}\n".encode())
    finally:
        os.close(file)
