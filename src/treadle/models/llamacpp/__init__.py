"""The embedded model: a GGUF file, run by a child process on xllamacpp. Needs no server, no key and no network.

Read `model` first. `child` owns the process, `serve` runs in it, `prompt_cache` stores evaluated prompt prefixes on disk.
"""
