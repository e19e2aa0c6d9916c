"""What a probe found out is kept, used and forgotten; and a dialect that isn't there is said so."""

import pytest

from treadle.app.ways import Way, able, forget, remember, remembered, ways_file
from treadle.core.errors import SettingsError
from treadle.core.requests import Traits
from treadle.models.fallback import ToolFallback
from treadle.models.flat import Flat
from treadle.models.held import Held
from treadle.models.scripted import Scripted
from treadle.models.spoken import Spoken


@pytest.fixture(autouse=True)
def _home(tmp_path, monkeypatch):
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "data"))


def test_what_was_kept_is_used_and_can_be_forgotten():
    model = Scripted(name="openai:m")
    assert isinstance(able(model), ToolFallback)
    remember("openai:m", Way("held", 0.5, right=6, of=6))
    remember("openai:n", Way("json", flat=True))
    assert isinstance(able(model), Held)
    assert isinstance(able(Scripted(name="openai:n")), Flat)
    assert able(model, "native") is model
    assert forget("openai:m")
    assert not forget("openai:m")
    assert isinstance(able(model), ToolFallback)
    assert list(remembered()) == ["openai:n"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"x": {"dialect": "\xff"}}'])
def test_a_file_that_cannot_be_read_counts_as_none(content):
    ways_file().parent.mkdir()
    ways_file().write_bytes(content)
    assert remembered() == {}


def test_without_a_probe_the_traits_say_how():
    assert isinstance(able(Scripted(traits=Traits(native_calls=False, holds=True))), Held)
    assert isinstance(able(Scripted(traits=Traits(native_calls=False))), Spoken)


def test_a_dialect_that_is_not_there_is_said_with_all_that_are():
    with pytest.raises(SettingsError, match=r"There is no dialect 'klingon'\. There are: native, held, apertus_json, auto"):
        able(Scripted(), "klingon")
