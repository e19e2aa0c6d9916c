"""A real small model for tests: SmolLM2-135M, fetched once into `.models`. Tests are skipped where it can't be had."""

import asyncio
import os
from functools import cache
from pathlib import Path

import pytest

from treadle.core.errors import PullFailed
from treadle.models.downloads.catalogue import find_local_model
from treadle.models.downloads.pull import pull_model
from treadle.models.downloads.storage import find_model_file

FOLDER = Path(__file__).parents[1] / ".models"


@cache
def smollm() -> Path:
    """The file of the model."""
    pytest.importorskip("xllamacpp", reason="xllamacpp has no wheel for this system")
    before = os.environ.get("TREADLE_MODELS")
    os.environ["TREADLE_MODELS"] = before or str(FOLDER)
    try:
        model = find_local_model("smollm2-135m")
        return find_model_file(model) or asyncio.run(pull_model(model))
    except PullFailed as error:
        pytest.skip(f"the model can't be fetched here: {error}")
    finally:
        if before is None:
            del os.environ["TREADLE_MODELS"]
