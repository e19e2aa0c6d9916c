"""What a reply costs: by the user's own settings, else by the data of `genai-prices`. A model of one's own machine is free."""

from functools import cache
from typing import Any

from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.core.requests import Usage
from treadle.models.providers import PROVIDERS

_MILLION = 1_000_000
_PROBE = Usage(input_tokens=1, output_tokens=1)


class Price(Struct, frozen=True):
    """US dollars for a million tokens. What is read from a cache costs what other input does, unless it is said."""

    input: float
    output: float
    cache_read: float | None = None

    def of(self, usage: Usage) -> float:
        """Return what this usage costs."""
        cached = usage.cache_read_tokens
        rate = self.input if self.cache_read is None else self.cache_read
        return ((usage.input_tokens - cached) * self.input + cached * rate + usage.output_tokens * self.output) / _MILLION


@cache
def _prices() -> Any:
    import genai_prices

    return genai_prices


def price(model_name: str, usage: Usage) -> float | None:
    """Return US dollars; None for a model whose price isn't known."""
    own = _settled(model_name)
    if own is not None:
        return own.of(usage)
    kind, _, model = model_name.partition(":")
    provider = PROVIDERS.get(kind)
    if provider is None or not provider.prices:
        return 0.0 if provider is not None and provider.local else None
    prices = _prices()
    spent = prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
    )
    try:
        return float(prices.calc_price(spent, model, provider_id=provider.prices).total_price)
    except LookupError:
        return None


def require_price(model_name: str, cost: float) -> None:
    """Raise `SettingsError` where a limit on the cost couldn't be kept, because nobody knows the price."""
    kind = model_name.partition(":")[0]
    if kind in ("scripted", "recorded") or price(model_name, _PROBE) is not None:
        return
    table = f'[prices."{model_name}"] with input and output, in US dollars for a million tokens'
    raise SettingsError(
        f"The price of {model_name} isn't known, so a limit of ${cost:g} can't be kept. Set it in your treadle.toml: {table}; "
        "or limit tokens instead."
    )


def _settled(model_name: str) -> Price | None:
    from treadle.app.settings import user_settings

    found = user_settings().prices.get(model_name)
    return None if found is None else Price(found.input, found.output, found.cache_read)
