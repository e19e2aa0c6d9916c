"""Other engines in the same harness: twenty effects one after the other, killed once at a random instant, and started again.

Each is written as its own documentation says. They run in an environment of their own (`bench/faults/requirements.txt`), without
Treadle; the world file, the tails and the kills are the same.
"""

from pathlib import Path

STEPS = 20
REQUIREMENTS = Path(__file__).parents[1] / "requirements.txt"


def read_version(package: str) -> str:
    """Return the version of a package as the environment of the other engines has it."""
    lines = REQUIREMENTS.read_text("utf-8").splitlines()
    return next(line.partition("==")[2] for line in lines if line.startswith(f"{package}=="))


def effect(number: int) -> str:
    """An effect as the world writes it."""
    return f"once {number}"
