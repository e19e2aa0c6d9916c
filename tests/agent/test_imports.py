"""What importing the library loads: nothing that only some programs need."""

import subprocess
import sys

NEEDED_LATER = {
    "aiohttp",
    "pathlib",
    "sqlite3",
    "treadle.models.schemas",
    "treadle.stores.database",
    "treadle.toolsets.wrappers",
    "urllib.parse",
}
LOADED = "import sys; before = {*sys.modules}; from treadle import Agent, tool; print(*{*sys.modules} - before)"


def test_importing_an_agent_loads_no_database_no_http_client_and_no_paths():
    loaded = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True).stdout.split()
    assert "treadle.engine.engine" in loaded
    assert not NEEDED_LATER & {*loaded}
