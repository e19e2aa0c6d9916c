"""What is known of a model by its name, or by its server's chat template."""

import pytest

from treadle.dialects import find_dialect
from treadle.models import families
from treadle.models.families import traits_of


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        ("qwen2.5:7b", "hermes_json"),
        ("Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf", "json"),
        ("Qwen3-Coder-30B-A3B", "qwen3_xml"),
        ("llama3.2", "llama3_json"),
        ("Llama-4-Scout", "pythonic_llama4"),
        ("mistral-small", "mistral"),
        ("DeepSeek-R1-0528", "deepseek_v3"),
        ("deepseek-v3.1", "deepseek_v31"),
        ("gpt-oss:20b", "harmony"),
        ("granite4:micro", "hermes_json_granite4"),
        ("never-heard-of-it", "auto"),
    ],
)
def test_a_family_is_known_by_its_name(name, dialect):
    assert traits_of(name).dialect == dialect


@pytest.mark.parametrize(
    ("name", "flat"), [("smollm2-135m", True), ("qwen2.5:1.5b", True), ("llama3:8b", False), ("x-70B", False), ("gpt-4o", False)]
)
def test_a_small_model_is_offered_flat_tools(name, flat):
    assert traits_of(name).flat is flat


def test_a_template_tells_what_a_name_does_not():
    assert traits_of("mine", "{% for t in tools %}<tool_call>{{ t }}</tool_call>").dialect == "hermes_json"
    assert traits_of("mine", "… [TOOL_CALLS] …").dialect == "mistral"
    assert traits_of("mine", "nothing about tools").dialect == "auto"


def test_every_dialect_it_names_is_there():
    named = {dialect for _, dialect in (*families._DIALECTS_BY_NAME, *families._DIALECTS_BY_TEMPLATE)}
    assert [name for name in sorted(named) if find_dialect(name) is None] == []
