"""Which SQLite is used: the one that was installed, or Python's own."""

import subprocess
import sys

from treadle.retrieval.connections import load_sqlite

WITHOUT = """
import sys
sys.modules["pysqlite3"] = None
from treadle.retrieval.connections import load_sqlite
print(load_sqlite().__name__)
"""


def test_the_library_that_is_used_has_full_text():
    connection = load_sqlite().connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
    connection.close()


def test_where_no_other_is_installed_it_is_python_s_own():
    assert subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True).stdout == "sqlite3\n"
