"""Public names of retrieval: documents in passages, stored in one file, found by full text and by embeddings.

Each is loaded when it is first used. Assistants and programs import them from here.
"""

from typing import TYPE_CHECKING, Any

from treadle.lazy import lazy_exports

if TYPE_CHECKING:
    from treadle.core.seams import Embedder
    from treadle.retrieval.embedding_endpoint import EndpointEmbedder
    from treadle.retrieval.format_splitting import split_markdown, split_yaml
    from treadle.retrieval.indexing import IndexProgress, IndexReport, index_folders
    from treadle.retrieval.local_embeddings import BuiltinEmbedder as BuiltinEmbedder
    from treadle.retrieval.local_embeddings import HashedEmbedder as HashedEmbedder
    from treadle.retrieval.passages import Passages
    from treadle.retrieval.source_files import DocumentReader, SkippedFile, TextReader, UnreadableDocument, decode_document
    from treadle.retrieval.source_files import folder_names as folder_names
    from treadle.retrieval.splitting import Piece, Split, split_text
    from treadle.retrieval.values import Passage, PassageHit, PassagesError, PassagesState, SourceDocument, TagQuery

_HOMES = {
    "BuiltinEmbedder": "treadle.retrieval.local_embeddings:BuiltinEmbedder",
    "SourceDocument": "treadle.retrieval.values",
    "Embedder": "treadle.core.seams",
    "EndpointEmbedder": "treadle.retrieval.embedding_endpoint",
    "PassageHit": "treadle.retrieval.values",
    "HashedEmbedder": "treadle.retrieval.local_embeddings:HashedEmbedder",
    "Passage": "treadle.retrieval.values",
    "Passages": "treadle.retrieval.passages",
    "PassagesError": "treadle.retrieval.values",
    "Piece": "treadle.retrieval.splitting",
    "IndexProgress": "treadle.retrieval.indexing",
    "DocumentReader": "treadle.retrieval.source_files",
    "IndexReport": "treadle.retrieval.indexing",
    "SkippedFile": "treadle.retrieval.source_files",
    "Split": "treadle.retrieval.splitting",
    "PassagesState": "treadle.retrieval.values",
    "TextReader": "treadle.retrieval.source_files",
    "UnreadableDocument": "treadle.retrieval.source_files",
    "TagQuery": "treadle.retrieval.values",
    "folder_names": "treadle.retrieval.source_files:folder_names",
    "index_folders": "treadle.retrieval.indexing",
    "split_markdown": "treadle.retrieval.format_splitting",
    "split_text": "treadle.retrieval.splitting",
    "split_yaml": "treadle.retrieval.format_splitting",
    "decode_document": "treadle.retrieval.source_files",
}

__all__ = [
    "BuiltinEmbedder",
    "DocumentReader",
    "Embedder",
    "EndpointEmbedder",
    "HashedEmbedder",
    "IndexProgress",
    "IndexReport",
    "Passage",
    "PassageHit",
    "Passages",
    "PassagesError",
    "PassagesState",
    "Piece",
    "SkippedFile",
    "SourceDocument",
    "Split",
    "TagQuery",
    "TextReader",
    "UnreadableDocument",
    "decode_document",
    "embedder_of",
    "folder_names",
    "index_folders",
    "split_markdown",
    "split_text",
    "split_yaml",
]


def embedder_of(name: str, **settings: Any) -> "Embedder | None":
    """Return the embedder that a setting names, or None for full text only.

    `auto` (the built-in one if installed), `builtin`, `openai:MODEL` (any compatible server, by `base_url`), `none`.
    """
    from treadle.core.errors import SettingsError
    from treadle.retrieval.embedding_endpoint import EndpointEmbedder
    from treadle.retrieval.local_embeddings import BuiltinEmbedder, is_builtin_installed

    match name.strip().partition(":"):
        case ("auto", "", ""):
            return BuiltinEmbedder() if is_builtin_installed() else None
        case ("builtin", "", ""):
            return BuiltinEmbedder()
        case ("none" | "", "", ""):
            return None
        case ("openai", ":", model) if model:
            return EndpointEmbedder(model, **settings)
        case _:
            raise SettingsError(f"There is no embedder {name!r}; it is auto, builtin, openai:MODEL or none.")


__getattr__, __dir__ = lazy_exports(__name__, _HOMES, __all__)
