"""The catalogue of local models."""

import re

import pytest

from treadle.core.errors import UnknownModel
from treadle.models.downloads.catalogue import LOCAL_MODELS, HubFile, Wheels, find_local_model


@pytest.mark.parametrize("model", LOCAL_MODELS, ids=lambda model: model.name)
def test_an_entry_says_all_that_is_needed_to_recognise_its_file(model):
    assert find_local_model(model.name) is model
    assert model.size > 0
    assert re.fullmatch("[0-9a-f]{64}", model.sha256)
    assert re.fullmatch(r"[\w.-]+\.gguf", model.file)
    assert model.licence
    assert model.sources


@pytest.mark.parametrize("model", LOCAL_MODELS, ids=lambda model: model.name)
def test_the_parts_in_wheels_make_the_whole(model):
    for source in model.sources:
        match source:
            case Wheels():
                assert sum(part.size for part in source.parts) == model.size
                assert all(part.size > 0 for part in source.parts)
                assert len({part.package for part in source.parts}) == len(source.parts)
            case HubFile():
                assert source == model.sources[0]  # the hub is tried first


def test_names_and_files_are_unique():
    assert len({model.name for model in LOCAL_MODELS}) == len({model.file for model in LOCAL_MODELS}) == len(LOCAL_MODELS)


def test_an_unknown_name_gets_those_there_are():
    with pytest.raises(UnknownModel, match=r"No local model is called 'gpt'\. There are: qwen2\.5-coder-1\.5b, smollm2-135m\."):
        find_local_model("gpt")
