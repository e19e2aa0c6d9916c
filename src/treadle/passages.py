"""The public names of retrieval: documents in passages, kept in one file, found by their words and by what they mean.

Each is loaded when it is first used. Assistants and programs import them from here.
"""

from typing import TYPE_CHECKING, Any

from treadle.lazy import lazy_exports

if TYPE_CHECKING:
    from treadle.core.seams import Embedder
    from treadle.models.embeddings.builtin import Builtin as BuiltinEmbedder
    from treadle.models.embeddings.endpoint import EndpointEmbedder
    from treadle.models.embeddings.hashed import Hashed as HashedEmbedder
    from treadle.stores.passages.documents import Reader, TextReader, Unreadable, text_of
    from treadle.stores.passages.files import Skipped
    from treadle.stores.passages.files import named as folder_names
    from treadle.stores.passages.folders import Progress, Report, index_folders
    from treadle.stores.passages.passages import Passages
    from treadle.stores.passages.split.markdown import split_markdown
    from treadle.stores.passages.split.pieces import Piece, Split
    from treadle.stores.passages.split.plain import split_text
    from treadle.stores.passages.split.yaml import split_yaml
    from treadle.stores.passages.values import Document, Found, Passage, PassagesError, State, Where

_HOMES = {
    "BuiltinEmbedder": "treadle.models.embeddings.builtin:Builtin",
    "Document": "treadle.stores.passages.values",
    "Embedder": "treadle.core.seams",
    "EndpointEmbedder": "treadle.models.embeddings.endpoint",
    "Found": "treadle.stores.passages.values",
    "HashedEmbedder": "treadle.models.embeddings.hashed:Hashed",
    "Passage": "treadle.stores.passages.values",
    "Passages": "treadle.stores.passages.passages",
    "PassagesError": "treadle.stores.passages.values",
    "Piece": "treadle.stores.passages.split.pieces",
    "Progress": "treadle.stores.passages.folders",
    "Reader": "treadle.stores.passages.documents",
    "Report": "treadle.stores.passages.folders",
    "Skipped": "treadle.stores.passages.files",
    "Split": "treadle.stores.passages.split.pieces",
    "State": "treadle.stores.passages.values",
    "TextReader": "treadle.stores.passages.documents",
    "Unreadable": "treadle.stores.passages.documents",
    "Where": "treadle.stores.passages.values",
    "folder_names": "treadle.stores.passages.files:named",
    "index_folders": "treadle.stores.passages.folders",
    "split_markdown": "treadle.stores.passages.split.markdown",
    "split_text": "treadle.stores.passages.split.plain",
    "split_yaml": "treadle.stores.passages.split.yaml",
    "text_of": "treadle.stores.passages.documents",
}

__all__ = [
    "BuiltinEmbedder",
    "Document",
    "Embedder",
    "EndpointEmbedder",
    "Found",
    "HashedEmbedder",
    "Passage",
    "Passages",
    "PassagesError",
    "Piece",
    "Progress",
    "Reader",
    "Report",
    "Skipped",
    "Split",
    "State",
    "TextReader",
    "Unreadable",
    "Where",
    "embedder_of",
    "folder_names",
    "index_folders",
    "split_markdown",
    "split_text",
    "split_yaml",
    "text_of",
]


def embedder_of(name: str, **settings: Any) -> "Embedder | None":
    """The embedder that a setting names, or None for words alone.

    `auto` (the built-in one where it is installed), `builtin`, `openai:MODEL` (any compatible server, by `base_url`), `none`.
    """
    from treadle.core.errors import SettingsError
    from treadle.models.embeddings.builtin import Builtin, installed
    from treadle.models.embeddings.endpoint import EndpointEmbedder

    match name.strip().partition(":"):
        case ("auto", "", ""):
            return Builtin() if installed() else None
        case ("builtin", "", ""):
            return Builtin()
        case ("none" | "", "", ""):
            return None
        case ("openai", ":", model) if model:
            return EndpointEmbedder(model, **settings)
        case _:
            raise SettingsError(f"There is no embedder {name!r}; it is auto, builtin, openai:MODEL or none.")


__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
