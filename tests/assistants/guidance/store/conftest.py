"""The store's own tests run on both kinds of database."""

from assistants.guidance.table import BOTH


def pytest_generate_tests(metafunc):
    if "address" in metafunc.fixturenames:
        metafunc.parametrize("address", BOTH, indirect=True)
