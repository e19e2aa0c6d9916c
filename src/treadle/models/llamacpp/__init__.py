"""The embedded model: a GGUF file, run by a child of this process on xllamacpp. Needs no server, no key and no network.

Read `model` first. `child` owns the process, `serve` is what runs in it, `prefix` keeps what was read once on disk.
"""
