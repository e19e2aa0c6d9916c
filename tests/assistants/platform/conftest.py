"""The demo platform, in both of its shapes."""

import pytest

from treadle.assistants.platform.demo import start_demo


@pytest.fixture(scope="package", params=["new", "old"])
def either(request):
    """One that nobody changes; in the shape of before and in that of today."""
    with start_demo(shape=request.param) as demo:
        yield demo


@pytest.fixture(params=["new", "old"])
def fresh(request):
    """One of its own for a test that changes something."""
    with start_demo(shape=request.param) as demo:
        yield demo


@pytest.fixture
def demo():
    """The newer one, for a test that changes something."""
    with start_demo() as demo:
        yield demo
