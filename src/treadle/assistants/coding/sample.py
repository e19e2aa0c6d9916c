"""A small sample project: a cart that forgets its first price, and tests that fail for it. A git repository."""

import asyncio
import os
import shutil
from pathlib import Path

from msgspec import Struct

from treadle.errors import SettingsError

MAX_SAMPLES = 50  # samples of one person
SAMPLE_TASK = "The total of a cart is too low: it looks as if the first price was left out."
SAMPLE_FILES = {
    "cart.py": '''"""The cart of a small shop."""


def total(prices, discount=0):
    """What the customer pays: all prices together, less a discount in per cent."""
    amount = 0
    for price in prices[1:]:
        amount += price
    return round(amount * (100 - discount) / 100, 2)


def cheapest(prices):
    """The lowest price, or nothing for an empty cart."""
    return min(prices) if prices else None
''',
    "test_cart.py": """import unittest

from cart import cheapest, total


class CartTest(unittest.TestCase):
    def test_the_total_is_the_sum_of_all_prices(self):
        self.assertEqual(total([5, 7, 11]), 23)

    def test_a_discount_is_taken_off(self):
        self.assertEqual(total([100, 100], discount=10), 180)

    def test_an_empty_cart_costs_nothing(self):
        self.assertEqual(total([]), 0)

    def test_the_cheapest_thing_is_found(self):
        self.assertEqual(cheapest([5, 2, 9]), 2)


if __name__ == "__main__":
    unittest.main()
""",
    "README.md": "# Cart\n\nA sample for Treadle. `python -m unittest` runs its tests; two of them fail.\n",
    ".gitignore": "__pycache__/\n.pytest_cache/\n",
}


class CodingSample(Struct, frozen=True):
    """A sample, and a task to try in it."""

    workspace: str
    kind: str = "debug"
    what: str = SAMPLE_TASK


async def make_coding_sample(folder: Path, taken: set[str]) -> CodingSample:
    """Create a sample below a folder, in a place that isn't used yet; `taken` are the folders that jobs have used."""
    for number in range(1, MAX_SAMPLES + 1):
        place = folder / ("cart" if number == 1 else f"cart-{number}")
        if not place.exists():
            await _write_sample(place)
            return CodingSample(str(place.resolve()))
        if str(place.resolve()) not in taken:
            return CodingSample(str(place.resolve()))
    raise SettingsError(f"There are {MAX_SAMPLES} samples in {folder} already; remove some of them.")


async def _write_sample(place: Path) -> None:
    """Write all of it, or nothing: a sample that exists is complete."""
    fresh = place.with_name(f".{place.name}.{os.getpid()}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True, mode=0o700)
    for name, text in SAMPLE_FILES.items():
        (fresh / name).write_text(text, "utf-8")
    for words in (("init", "--quiet", "--initial-branch=main", "--template="), ("add", "."), ("commit", "--quiet", "-m", "A cart")):
        await _run_git(fresh, *words)
    fresh.replace(place)


async def _run_git(folder: Path, *words: str) -> None:
    """Run git with its own configuration: no user's settings and hooks apply."""
    program = shutil.which("git")
    if program is None:
        raise SettingsError("There is no git here, which samples need. Install it, and try again.")
    settings = ("-c", "user.name=Treadle", "-c", "user.email=treadle@localhost", "-c", "core.hooksPath=/dev/null")
    env = {"PATH": os.environ.get("PATH", ""), "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        program,
        *settings,
        *words,
        cwd=folder,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=pipe,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    if process.returncode:
        raise SettingsError(f"The sample can't be made: {said.decode(errors='replace').strip()[:500]}")
