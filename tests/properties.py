"""How many cases a property tries: the same few in every run, and many that no run has tried in `make explore`."""

import os

from hypothesis import HealthCheck, settings

EXPLORE = os.environ.get("TREADLE_PROPERTIES") == "explore"

# How fast a machine is says nothing about what is right on it; a fixture's folder is shared by all cases of a property on purpose.
_HOW = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]}
settings.register_profile("same", derandomize=True, max_examples=50, **_HOW)
settings.register_profile("explore", derandomize=False, print_blob=True, max_examples=500, **_HOW)
settings.load_profile("explore" if EXPLORE else "same")


def examples(count: int) -> settings:
    """`count` cases in every run, ten times as many in `make explore`."""
    return settings(max_examples=count * 10 if EXPLORE else count)
