"""Numbers as they can be typed after an option, each with the sentence that says what is wrong with another one."""

import argparse
import math
from collections.abc import Callable

UNLIMITED = "unlimited"


def count(least: int) -> Callable[[str], int]:
    """Whole numbers from `least` up."""

    def counted(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {least} up")
        return int(text)

    return counted


def number(least: float) -> Callable[[str], float]:
    """Numbers from `least` up."""

    def numbered(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from {least:g} up")
        return value

    return numbered


def at_most(limit: Callable[[str], float]) -> Callable[[str], float | str]:
    """Such a number, or that there is no limit."""

    def most(text: str) -> float | str:
        return text if text == UNLIMITED else limit(text)

    return most
