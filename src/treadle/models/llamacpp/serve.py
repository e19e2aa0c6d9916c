"""The child process: loads a GGUF with xllamacpp and serves it on loopback for as long as the parent lives.

Its settings come as a line of JSON on stdin, its address is printed as one. When stdin closes, even because the parent was
killed, it exits. Only `child` starts it.
"""

import json
import os
import sys
from typing import Any

from treadle.models.llamacpp.threads import choose_thread_count

BATCH = 256  # tokens of a prompt that are read at once: progress is reported, and a reply can be stopped, after each of these


def main() -> None:
    """Serve until the parent exits."""
    settings = json.loads(sys.stdin.readline())
    server = _start_server(settings)
    print(json.dumps({"address": server.listening_address}), flush=True)
    sys.stdin.read()
    os._exit(0)  # its threads may be in the middle of a reply that nobody reads any more


def _start_server(settings: dict[str, Any]) -> Any:
    from importlib import import_module

    xllamacpp: Any = import_module("xllamacpp")  # compiled, and without types
    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.n_ctx = settings["context"]
    params.n_parallel = settings["slots"]
    params.n_batch = BATCH
    params.kv_unified = True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"] or choose_thread_count()
    params.api_keys = [settings["key"]]
    params.slot_save_path = os.path.join(settings["kept"], "")  # noqa: PTH118 - the slash at its end is what matters
    params.cache_ram_mib = 0  # what is worth keeping is kept on disk
    params.endpoint_slots = True
    params.warmup = False
    params.verbosity = 1
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
