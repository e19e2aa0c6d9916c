"""What a turn has used, on one line."""

from treadle.cli.ui.report import format_usage
from treadle.core.requests import Usage


def test_cached_tokens_are_shown_with_the_usage():
    used = Usage(requests=2, input_tokens=3000, output_tokens=20)
    assert format_usage(used) == "2 requests, 3,000 tokens in, 20 out"
    assert format_usage(used + Usage(cache_read_tokens=1400)) == "2 requests, 3,000 tokens in (1,400 cached), 20 out"
