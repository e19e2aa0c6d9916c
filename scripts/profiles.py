"""Write src/treadle/models/windows.json: the context windows of models by provider, out of the data of genai-prices."""

import json
from pathlib import Path

from genai_prices.data import providers

from treadle.models.providers import PROVIDERS

TARGET = Path(__file__).parents[1] / "src" / "treadle" / "models" / "windows.json"
WANTED = {provider.prices for provider in PROVIDERS.values()} - {""}

windows = {
    provider.id: {model.id.lower(): model.context_window for model in provider.models if model.context_window}
    for provider in providers
    if provider.id in WANTED
}
TARGET.write_text(json.dumps(windows, sort_keys=True, separators=(",", ":")) + "\n")
print(f"{sum(map(len, windows.values()))} models of {len(windows)} providers, {TARGET.stat().st_size:,} bytes")
