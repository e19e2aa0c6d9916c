"""The demo's home: a folder below the user's own, which this process uses as its home from then on.

Of the user's settings only the model applies, which the caller has to look up before, and the keys of its providers:
everything else could lead out of the folder, to the user's own projects, courses and platform.
"""

import os
from pathlib import Path

from treadle.files.workspace_folders import WORKSHOP
from treadle.home import home_folder
from treadle.settings.loader import CONFIG_VARIABLE as SETTINGS
from treadle.settings.provider_keys import inherit_provider_keys

FOLDER = "demo"


def enter_demo_home() -> Path:
    """Create the folder, and make it the home of this process and its children."""
    folder = (home_folder() / FOLDER).absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    for each in (folder, workshop := folder / WORKSHOP):
        each.mkdir(exist_ok=True, mode=0o700)
    settings = folder / "treadle.toml"
    settings.touch()
    inherit_provider_keys(folder.parent)
    os.environ["TREADLE_HOME"] = str(folder)
    os.environ[SETTINGS] = str(settings)
    os.environ.pop("TREADLE_GUIDANCE_DATABASE", None)
    os.chdir(workshop)
    return folder
