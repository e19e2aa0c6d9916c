"""What a probe found out is kept, used and forgotten; and a dialect that isn't there is said so."""

import pytest

from treadle.core.errors import SettingsError
from treadle.core.requests import Traits
from treadle.models.calling.constrained import ConstrainedModel
from treadle.models.calling.flat_tools import FlatToolsModel
from treadle.models.calling.prompted import PromptedModel
from treadle.models.fallback import ToolFallbackModel
from treadle.models.scripted import Scripted
from treadle.settings.calling_modes import (
    CallingMode,
    calling_modes_file,
    enable_tool_calls,
    forget_calling_mode,
    load_calling_modes,
    save_calling_mode,
)


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "data"))


def test_what_was_kept_is_used_and_can_be_forgotten():
    model = Scripted(name="openai:m")
    assert isinstance(enable_tool_calls(model), ToolFallbackModel)
    save_calling_mode("openai:m", CallingMode("held", 0.5, right=6, of=6))
    save_calling_mode("openai:n", CallingMode("json", flat=True))
    assert isinstance(enable_tool_calls(model), ConstrainedModel)
    assert isinstance(enable_tool_calls(Scripted(name="openai:n")), FlatToolsModel)
    assert enable_tool_calls(model, "native") is model
    assert forget_calling_mode("openai:m")
    assert not forget_calling_mode("openai:m")
    assert isinstance(enable_tool_calls(model), ToolFallbackModel)
    assert list(load_calling_modes()) == ["openai:n"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"x": {"dialect": "\xff"}}'])
def test_a_file_that_cannot_be_read_counts_as_none(content):
    calling_modes_file().parent.mkdir()
    calling_modes_file().write_bytes(content)
    assert load_calling_modes() == {}


def test_without_a_probe_the_traits_say_how():
    assert isinstance(enable_tool_calls(Scripted(traits=Traits(native_calls=False, holds=True))), ConstrainedModel)
    assert isinstance(enable_tool_calls(Scripted(traits=Traits(native_calls=False))), PromptedModel)


def test_a_dialect_that_is_not_there_is_said_with_what_was_meant_or_all_that_are():
    with pytest.raises(
        SettingsError, match=r"There is no dialect 'zzz'\. There are: native, held, apertus_json, auto, bare_json, bash"
    ):
        enable_tool_calls(Scripted(), "zzz")
    with pytest.raises(SettingsError, match=r"There is no dialect 'hld'\. Did you mean held\?$"):
        enable_tool_calls(Scripted(), "hld")
