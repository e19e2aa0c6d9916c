"""Every case of the kit with Treadle."""

import asyncio

import pytest

from providers.adapters import adapter_of
from providers.case import run
from providers.cases import CASES
from providers.oracles import is_installed


@pytest.mark.parametrize("case_id", CASES)
def test_treadle_passes(case_id):
    case = CASES[case_id]
    for package in sorted(case.needs):
        if not is_installed(package):
            pytest.skip(f"{package} isn't installed, so this case's requests can't be checked")
    verdict = asyncio.run(run(case, adapter_of("treadle")))
    assert verdict.passed, "\n".join([verdict.unsupported, *verdict.failed])


def test_there_are_enough_cases():
    assert len(CASES) >= 150
