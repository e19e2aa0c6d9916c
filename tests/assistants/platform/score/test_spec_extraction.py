"""The spec in what a model says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treadle.assistants.platform.score import find_spec

SPEC = "metadata:\n  name: a\ncontainers:\n  web:\n    image: nginx:1\n"
INDENTED = "".join(f"   {line}\n" for line in SPEC.splitlines())


@pytest.mark.parametrize(
    "said",
    [
        f"Here it is:\n```yaml\n{SPEC}```\nDeploy it?",
        f"```yml\n{SPEC}```",
        f"```YAML\n{SPEC}```",
        f"``` yaml title=score.yaml\n{SPEC}```",
        f"~~~yaml\n{SPEC}~~~",
        f"````yaml\n{SPEC}````",
        f"1. This:\n   ```yaml\n{INDENTED}   ```\n2. That.",
        f"```yaml\n{SPEC}",
        f"```python\nprint()\n```\n```yaml\n{SPEC}```",
        f"```yaml\n```\nand\n```yaml\n{SPEC}```",
        f"```yaml\n{SPEC}```\nor\n```yaml\nother: 1\n```",
        f"```\n{SPEC}```",
        f"```\n$ ls\n```\n```\n{SPEC}```",
        SPEC,
    ],
)
def test_the_first_yaml_fence_is_the_spec(said):
    assert find_spec(said) == SPEC


@pytest.mark.parametrize(
    "said",
    [
        "",
        "There is no spec.",
        "```python\nprint()\n```",
        "```\nls\n```",
        "metadata: {}",
        "a: b: c",
        "Use `yaml` here.",
        f"Here you are.\n{SPEC}",
    ],
)
def test_where_there_is_no_spec_there_is_none(said):
    assert find_spec(said) is None


def test_a_fence_inside_of_a_longer_one_belongs_to_it():
    assert find_spec("````markdown\n```yaml\na: 1\n```\n````") is None


def test_a_line_with_less_space_than_its_fence_keeps_what_it_has():
    assert find_spec("  ```yaml\n  a:\n b: 1\n  ```") == "a:\nb: 1\n"


@given(st.one_of(st.text(), st.text("`~ yaml\n:", max_size=80)))
def test_any_text_is_looked_through_without_an_exception(text):
    found = find_spec(text)
    assert found is None or found.strip()
