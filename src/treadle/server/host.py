"""What the server provides to assistants: its owner's home, and the model, resolved when first needed."""

from collections.abc import Awaitable, Callable

from treadle.core.seams import Model
from treadle.home import open_home
from treadle.plugins.assistant import Host
from treadle.plugins.models import configured_model, default_model, model_at
from treadle.settings.provider_keys import provider_keys_stamp


def make_host(model: str = "", base_url: str = "", *, is_default: bool = False) -> Host:
    """Return the host for a single user. `model` is a name; without one, the default is used."""
    return Host(home=open_home(), model=lazy_model(model, base_url, is_default=is_default))


def lazy_model(name: str = "", base_url: str = "", *, is_default: bool = False) -> Callable[[], Awaitable[Model]]:
    """Return a function that resolves the model at the first call and caches it, until its settings or its key are changed.

    A name takes precedence over the settings, unless it `is_default`. A failure isn't cached: the next call retries.
    """
    found: dict[tuple[object, ...], Model] = {}

    async def model() -> Model:
        chosen, address = ("", "") if name and not is_default else configured_model()
        settled, server = (chosen, address) if is_default and chosen else (name or chosen, base_url or address)
        source = settled, server, provider_keys_stamp()
        if source not in found:
            made = model_at(settled or await default_model(), server)
            found.clear()
            found[source] = made
        return found[source]

    return model
