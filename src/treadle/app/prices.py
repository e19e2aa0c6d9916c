"""What a reply cost, from the data of the package `genai-prices` where it is installed; unknown otherwise."""

from functools import cache
from typing import Any

from treadle.core.requests import Usage


@cache
def _prices() -> Any:
    try:
        import genai_prices
    except ImportError:
        return None
    return genai_prices


def price(model_name: str, usage: Usage) -> float | None:
    """US dollars; None for a model whose price isn't known, such as one's own."""
    provider, _, model = model_name.partition(":")
    if provider not in ("openai", "anthropic"):
        return None
    prices = _prices()
    if prices is None:
        return None
    spent = prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
    )
    try:
        return float(prices.calc_price(spent, model, provider_id=provider).total_price)
    except LookupError:
        return None
