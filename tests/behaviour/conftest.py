"""Every row of the contract is tried over both wires, streamed and whole."""

import pytest

import wire
from stories import Story


@pytest.fixture(params=wire.EVERY, ids=[f"{name}-{'streamed' if stream else 'whole'}" for name, stream in wire.EVERY])
def story(request):
    return Story(*request.param)


@pytest.fixture(params=["openai", "anthropic"])
def streamed(request):
    """For what only a stream can do."""
    return Story(request.param, stream=True)
