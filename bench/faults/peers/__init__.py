"""Other engines in the same harness: twenty effects one after the other, killed once at a random instant, and started again.

Each is written as its own documentation says. They run in an environment of their own (`bench/faults/requirements.txt`), without
Treadle; the world file, the tails and the kills are the same.
"""

STEPS = 20


def effect(number: int) -> str:
    """An effect as the world writes it."""
    return f"once {number}"
