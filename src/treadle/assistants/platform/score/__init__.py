"""Score specs: read, checked by line, found in a model's answer, compared. Pure: no server is asked, no file opened.

YAML is read with PyYAML, which comes with `pip install 'treadle[platform]'` and is imported with the first text.
"""

from treadle.assistants.platform.score.canonical import canonical, difference, from_server
from treadle.assistants.platform.score.check import check, read
from treadle.assistants.platform.score.fences import spec_in
from treadle.assistants.platform.score.known import PROVIDED
from treadle.assistants.platform.score.values import BadSpec, Checked, Container, Environment, Finding, Resource, Spec

__all__ = [
    "PROVIDED",
    "BadSpec",
    "Checked",
    "Container",
    "Environment",
    "Finding",
    "Resource",
    "Spec",
    "canonical",
    "check",
    "difference",
    "from_server",
    "read",
    "spec_in",
]
