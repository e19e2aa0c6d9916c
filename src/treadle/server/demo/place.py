"""Where the demonstration is: a folder below the person's own, which this process takes for its home from then on.

Of what the person has settled only the model counts, which whoever calls this has to look up before: everything else could lead
out of the folder, to their own projects, courses and platform.
"""

import os
from pathlib import Path

from treadle.app.home import home_folder
from treadle.app.settings import VARIABLE as SETTINGS
from treadle.files.places import WORKSHOP

FOLDER = "demo"


def enter() -> Path:
    """Make the folder, and have this process live in it. What it starts lives there too."""
    folder = (home_folder() / FOLDER).absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    for each in (folder, workshop := folder / WORKSHOP):
        each.mkdir(exist_ok=True, mode=0o700)
    settings = folder / "treadle.toml"
    settings.touch()
    os.environ["TREADLE_HOME"] = str(folder)
    os.environ[SETTINGS] = str(settings)
    os.environ.pop("TREADLE_GUIDANCE_DATABASE", None)
    os.chdir(workshop)
    return folder
