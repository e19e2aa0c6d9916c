"""What the server provides to assistants: its owner's home, and the model, resolved when first needed."""

from collections.abc import Awaitable, Callable

from treadle.core.seams import Model
from treadle.home import open_home
from treadle.plugins.assistant import Host
from treadle.plugins.models import configured_model, default_model, model_at


def make_host(model: str = "", base_url: str = "") -> Host:
    """Return the host for a single user. `model` is a name; without one, the default is used."""
    return Host(home=open_home(), model=lazy_model(model, base_url))


def lazy_model(name: str = "", base_url: str = "") -> Callable[[], Awaitable[Model]]:
    """Return a function that resolves the model at the first call and caches it. A failure isn't cached: the next call retries."""
    found: list[Model] = []

    async def model() -> Model:
        if not found:
            settled, address = (name, "") if name else configured_model()
            found.append(model_at(settled or await default_model(), base_url or address))
        return found[0]

    return model
