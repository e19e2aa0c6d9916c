"""Score specs: parsed, checked by line, found in a model's answer, compared. Pure: no network and no file access.

YAML is parsed with PyYAML, which comes with `pip install 'treadle[platform]'` and is imported with the first text.
"""

from treadle.assistants.platform.score.canonical import canonical_spec, diff_specs, find_spec, spec_from_server
from treadle.assistants.platform.score.check import check_spec, parse_spec
from treadle.assistants.platform.score.spec import (
    PROVIDED,
    BadSpec,
    CheckedSpec,
    ScoreSpec,
    SpecContainer,
    SpecEnvironment,
    SpecFinding,
    SpecResource,
)

__all__ = [
    "PROVIDED",
    "BadSpec",
    "CheckedSpec",
    "ScoreSpec",
    "SpecContainer",
    "SpecEnvironment",
    "SpecFinding",
    "SpecResource",
    "canonical_spec",
    "check_spec",
    "diff_specs",
    "find_spec",
    "parse_spec",
    "spec_from_server",
]
