"""The same dataset in pytest."""

from pathlib import Path

from treadle.evals import evaluate_sync, load_dataset

CASES = load_dataset(Path(__file__).with_name("purchases.yaml"))


def test_what_is_missing_is_ordered() -> None:
    report = evaluate_sync(CASES, repeat=3)
    assert report.passed, report.failures()
    assert [call.tool for call in report.attempts[0].asked] == ["order"]
