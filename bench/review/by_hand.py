"""Changes that were written by hand: the code before, a clean change, and the same change with a defect. Values only."""

from msgspec import Struct


class HandCase(Struct, frozen=True):
    """`wrong` is a piece of the line that has the defect."""

    name: str
    before: str
    clean: str
    planted: str
    wrong: str
    defect: str


BY_HAND = (
    HandCase(
        "basket",
        "def add(item):\n    basket = []\n    basket.append(item)\n    return basket\n",
        "def add(item, basket=None):\n    basket = [] if basket is None else basket\n    basket.append(item)\n    return basket\n",
        "def add(item, basket=[]):\n    basket.append(item)\n    return basket\n",
        "basket=[]",
        "a mutable default is shared between calls",
    ),
    HandCase(
        "config",
        "import json\n\n\ndef load(path):\n    return json.load(open(path))\n",
        "import json\n\n\ndef load(path):\n    with open(path) as file:\n        return json.load(file)\n",
        "import json\n\n\ndef load(path):\n    try:\n        return json.load(open(path))\n"
        "    except Exception:\n        return {}\n",
        "except Exception:",
        "every error is swallowed",
    ),
    HandCase(
        "users",
        "def find(db, name):\n    return db.all()\n",
        'def find(db, name):\n    return db.execute("SELECT * FROM users WHERE name = ?", (name,)).fetchall()\n',
        "def find(db, name):\n    return db.execute(f\"SELECT * FROM users WHERE name = '{name}'\").fetchall()\n",
        "SELECT",
        "SQL injection",
    ),
    HandCase(
        "pages",
        "def page(items, number):\n    return items\n",
        "def page(items, number, size=10):\n    start = (number - 1) * size\n    return items[start : start + size]\n",
        "def page(items, number, size=10):\n    start = (number - 1) * size\n    return items[start : start + size - 1]\n",
        "size - 1]",
        "the last item of a page is lost",
    ),
    HandCase(
        "money",
        "def share(total, people):\n    return total\n",
        "def share(total, people):\n    if not people:\n        raise ValueError(people)\n    return total / len(people)\n",
        "def share(total, people):\n    if people:\n        raise ValueError(people)\n    return total / len(people)\n",
        "if people:",
        "the check is inverted",
    ),
    HandCase(
        "retry",
        "def fetch(get):\n    return get()\n",
        "def fetch(get, times=3):\n    for left in range(times, 0, -1):\n        try:\n            return get()\n"
        "        except OSError:\n            if left == 1:\n                raise\n",
        "def fetch(get, times=3):\n    for left in range(times, 0, -1):\n        try:\n            return get()\n"
        "        except OSError:\n            if left == times:\n                raise\n",
        "left == times",
        "it raises after the first try in place of the last",
    ),
)
