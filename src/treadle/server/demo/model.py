"""The demo's model: one that the user has, else the embedded one, which `server.models.ModelFetcher` downloads."""

from treadle.core.errors import UnknownModel
from treadle.plugins.models import configured_model, default_model


async def find_demo_model(named: str = "", base_url: str = "") -> tuple[str, str]:
    """Return the name of a model and its server's URL; an empty name where there is none.

    It is the one that was named, or configured, or that there is a key for, or that runs locally.
    """
    settled, address = (named, "") if named else configured_model()
    try:
        return settled or await default_model(), base_url or address
    except UnknownModel:
        return "", base_url
