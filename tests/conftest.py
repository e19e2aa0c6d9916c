"""How properties are searched: the same cases in every run, so that one run says what the next will; not in `make explore`."""

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True)
settings.register_profile("explore", derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("TREADLE_PROPERTIES", "same"))
