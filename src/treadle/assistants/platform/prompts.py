"""Prompts of the platform assistant."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from treadle.assistants.platform.responses import Json
from treadle.assistants.platform.score import PROVIDED

if TYPE_CHECKING:
    from treadle.passages import PassageHit

INSTRUCTIONS = """\
You help people with their developer platform. You act with the rights of the person you talk to, and with no others.
- What is on the platform changes all the time: look it up with your tools before you answer. Make up no name, id or state.
- Use the names of applications exactly as they are on the platform. If one isn't there, say so and name the ones that are.
- Where a tool reports a problem, say in plain words what it means for the person. Never try to get round a refusal.
- Whatever changes something is approved by the person, who is asked by the platform itself: just call the tool, once.
- Answer briefly, in Markdown."""

SPECS = """\
To write a spec, put one YAML block into your answer. To deploy the one that was shown last, call deploy_application without it."""

SCORE = f"""\
A Score spec looks like this. There are no other keys; `variables` are what others call env.
```yaml
apiVersion: score.dev/v1b1
metadata:
  name: my-app
containers:
  web:
    image: nginx:1.27
    variables:
      DB_HOST: ${{resources.db.host}}
resources:
  db:
    type: postgres
    params:
      version: "16"
environment:
  type: development
  ttl: 24h
```
`resources` and `environment` may be left out. Types of resources: {", ".join(sorted(PROVIDED))}."""

DOCUMENTATION = "From the platform's documentation, as far as it may have to do with the question:"

GENERATE = f"""\
You write Score specs for a developer platform: from a description, one spec that can be deployed as it is.
{SCORE}
Answer with the spec in one ```yaml block, and after it two or three sentences on what it does."""


def build_platform_instructions(user: Json, passages: "Sequence[PassageHit]", *, writes_specs: bool = True) -> str:
    """Build the instructions for one question: the user, and the matching documentation."""
    parts = [INSTRUCTIONS, *([SPECS, SCORE] if writes_specs else [])]
    if user:
        parts.append(f"The person is {user.get('username', 'unknown')}, {_format_membership(user)}.")
    if passages:
        parts.append(format_documentation(passages))
    return "\n\n".join(parts)


def _format_membership(user: Json) -> str:
    return f"of the team {user.get('team', 'unknown')}, with the role {user.get('role', 'unknown')}"


def format_documentation(passages: "Sequence[PassageHit]") -> str:
    """Format passages, each with its citation key."""
    found = "\n\n".join([f"[{each.passage.source}]\n{each.passage.text}" for each in passages])
    return f"{DOCUMENTATION}\n\n{found}"
