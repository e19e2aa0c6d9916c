"""The cost of a reply: by the user's settings, else by the data of `genai-prices`. A local model is free."""

from functools import cache
from typing import Any

from msgspec import Struct

from treadle.core.errors import SettingsError
from treadle.core.requests import Usage
from treadle.core.seams import Model
from treadle.models.providers import PROVIDERS

_MILLION = 1_000_000
_PROBE = Usage(input_tokens=1, output_tokens=1)


class Price(Struct, frozen=True):
    """US dollars per million tokens. Cached input costs the same as other input, unless `cache_read` is set."""

    input: float
    output: float
    cache_read: float | None = None

    def of(self, usage: Usage) -> float:
        """Return the cost of this usage."""
        cached = usage.cache_read_tokens
        rate = self.input if self.cache_read is None else self.cache_read
        return ((usage.input_tokens - cached) * self.input + cached * rate + usage.output_tokens * self.output) / _MILLION


@cache
def _import_genai_prices() -> Any:
    import genai_prices

    return genai_prices


def calculate_cost(model_name: str, usage: Usage) -> float | None:
    """Return the cost in US dollars; None for a model whose price isn't known."""
    own = _configured_price(model_name)
    if own is not None:
        return own.of(usage)
    kind, _, model = model_name.partition(":")
    provider = PROVIDERS.get(kind)
    if provider is None or not provider.prices:
        return 0.0 if provider is not None and provider.local else None
    prices = _import_genai_prices()
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


def require_price(model: Model, cost: float) -> None:
    """Raise `SettingsError` where a cost limit can't be enforced because a price isn't known, of a fallback's models too."""
    for each in getattr(model, "models", (model,)):
        _require_price(each.name, cost)


def _require_price(model_name: str, cost: float) -> None:
    kind = model_name.partition(":")[0]
    if kind in ("scripted", "recorded") or calculate_cost(model_name, _PROBE) is not None:
        return
    table = f'[prices."{model_name}"] with input and output, in US dollars for a million tokens'
    raise SettingsError(
        f"The price of {model_name} isn't known, so a limit of ${cost:g} can't be kept. Set it in your treadle.toml: {table}; "
        "or limit tokens instead."
    )


def _configured_price(model_name: str) -> Price | None:
    from treadle.settings.loader import user_settings

    found = user_settings().prices.get(model_name)
    return None if found is None else Price(found.input, found.output, found.cache_read)
