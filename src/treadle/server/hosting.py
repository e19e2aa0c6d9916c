"""What the server lends to assistants: the home of whoever started it, and the model they chose, found when it is first needed."""

from collections.abc import Awaitable, Callable

from treadle.app.assistant import Host
from treadle.app.home import open_home
from treadle.app.models import default_model, model_at, settled_model
from treadle.core.seams import Model


def make_host(model: str = "", base_url: str = "") -> Host:
    """The host for the one person there is. `model` is a name; without one, the default is used."""
    return Host(home=open_home(), model=found_later(model, base_url))


def found_later(name: str = "", base_url: str = "") -> Callable[[], Awaitable[Model]]:
    """Finds the model at the first call and keeps it. A failure is that call's alone: the next one looks again."""
    found: list[Model] = []

    async def model() -> Model:
        if not found:
            settled, address = (name, "") if name else settled_model()
            found.append(model_at(settled or await default_model(), base_url or address))
        return found[0]

    return model
