"""Attempts with a model's file: heads that claim more than there is, and a child that would see keys."""

import os
import struct
import threading

import pytest

from treadle.core.errors import SettingsError
from treadle.models.llamacpp.gguf_header import check_gguf_header

HUGE = 2**64 - 1


def text(words, length=None):
    return struct.pack("<Q", len(words) if length is None else length) + words


def key(name, kind, value):
    return text(name) + struct.pack("<I", kind) + value


def tensor(name=b"w", dimensions=(32,), kind=0, offset=0, count=None):
    sizes = b"".join([struct.pack("<Q", size) for size in dimensions])
    return text(name) + struct.pack("<I", len(dimensions) if count is None else count) + sizes + struct.pack("<IQ", kind, offset)


def file(*, magic=b"GGUF", version=3, tensors=(), keys=(), tensor_count=None, key_count=None, data=b""):
    counts = (len(tensors) if tensor_count is None else tensor_count, len(keys) if key_count is None else key_count)
    head = struct.pack("<4sIQQ", magic, version, *counts) + b"".join(keys) + b"".join(tensors)
    return head + bytes(-len(head) % 32) + data


ARCH = key(b"general.architecture", 8, text(b"llama"))
WHOLE = file(
    keys=[ARCH, key(b"tokens", 9, struct.pack("<IQ", 8, 2) + text(b"a") + text(b"b"))], tensors=[tensor()], data=bytes(128)
)
BAD = {
    "nothing": b"",
    "no GGUF": file(magic=b"GGML", data=bytes(64)),
    "an old version": file(version=1),
    "a version of tomorrow": file(version=99),
    "the other byte order": struct.pack(">4sIQQ", b"GGUF", 3, 1, 1) + bytes(100),
    "too short": WHOLE[:10],
    "cut in a key": WHOLE[:40],
    "cut in a tensor": WHOLE[:100],
    "no data": file(tensors=[tensor(dimensions=(4096, 4096))]),
    "as many keys as can be": file(key_count=HUGE, data=bytes(1000)),
    "many keys": file(key_count=60_000, data=bytes(1000)),
    "as many tensors as can be": file(tensor_count=HUGE, data=bytes(1000)),
    "many tensors": file(tensor_count=900_000, data=bytes(1000)),
    "a key as long as can be": file(keys=[text(b"k", HUGE)], data=bytes(1000)),
    "a key longer than the file": file(keys=[text(b"k", 60_000)], data=bytes(1000)),
    "a text as long as can be": file(keys=[text(b"k") + struct.pack("<I", 8) + text(b"v", HUGE)], data=bytes(1000)),
    "a text that wraps round": file(keys=[text(b"k") + struct.pack("<I", 8) + text(b"v", 2**63)], data=bytes(1000)),
    "a list as long as can be": file(keys=[key(b"k", 9, struct.pack("<IQ", 4, HUGE))], data=bytes(1000)),
    "a list whose bytes wrap round": file(keys=[key(b"k", 9, struct.pack("<IQ", 12, 2**61 + 1))], data=bytes(1000)),
    "a list of texts as long as can be": file(keys=[key(b"k", 9, struct.pack("<IQ", 8, HUGE))], data=bytes(1000)),
    "a list of lists": file(keys=[key(b"k", 9, struct.pack("<IQ", 9, 1) + struct.pack("<IQ", 9, 1))], data=bytes(1000)),
    "a type that there isn't": file(keys=[key(b"k", 13, bytes(8))], data=bytes(1000)),
    "an alignment of nothing": file(keys=[key(b"general.alignment", 4, struct.pack("<I", 0))], data=bytes(1000)),
    "an odd alignment": file(keys=[key(b"general.alignment", 4, struct.pack("<I", 3))], data=bytes(1000)),
    "an alignment of a text": file(keys=[key(b"general.alignment", 8, text(b"x"))], data=bytes(1000)),
    "a tensor without dimensions": file(tensors=[tensor(dimensions=())], data=bytes(1000)),
    "a tensor of many dimensions": file(tensors=[tensor(dimensions=(2,) * 5)], data=bytes(1000)),
    "a tensor that claims dimensions": file(tensors=[tensor(count=2**31)], data=bytes(1000)),
    "a tensor of no weights": file(tensors=[tensor(dimensions=(0,))], data=bytes(1000)),
    "a tensor whose size wraps round": file(tensors=[tensor(dimensions=(2**32, 2**32))], data=bytes(1000)),
    "a tensor larger than the file": file(tensors=[tensor(dimensions=(2**40,))], data=bytes(1000)),
    "a tensor behind the end": file(tensors=[tensor(offset=2**20)], data=bytes(1000)),
    "a tensor before the beginning": file(tensors=[tensor(offset=HUGE - 31)], data=bytes(1000)),
    "a tensor between two places": file(tensors=[tensor(offset=7)], data=bytes(1000)),
    "a tensor's name as long as can be": file(tensors=[text(b"w", HUGE)], data=bytes(1000)),
}


@pytest.mark.parametrize("what", BAD)
def test_a_head_that_claims_what_is_not_there_is_refused(what, tmp_path):
    path = tmp_path / "bad.gguf"
    path.write_bytes(BAD[what])
    with pytest.raises(SettingsError, match=r"bad\.gguf can't be loaded: .* Is it a whole GGUF file\?$"):
        check_gguf_header(str(path))


def test_a_head_that_is_right_is_taken(tmp_path):
    path = tmp_path / "right.gguf"
    path.write_bytes(WHOLE)
    check_gguf_header(str(path))


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.gguf")
    done = []

    def look():
        for path in (tmp_path / "pipe.gguf", tmp_path, tmp_path / "none.gguf"):
            with pytest.raises(SettingsError, match="can't be loaded"):
                check_gguf_header(str(path))
            done.append(path)

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    looking.join(20)
    assert len(done) == 3


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "TREADLE_KEY_PASSWORD", "DB_PASSWORD"])
def test_the_child_that_reads_a_model_sees_no_key(name, tmp_path, monkeypatch):
    import subprocess

    from treadle.models.llamacpp import child

    class Stop(Exception):
        pass

    seen = {}

    def popen(*words, env, **more):
        seen.update(env)
        raise Stop

    path = tmp_path / "right.gguf"
    path.write_bytes(WHOLE)
    monkeypatch.setenv(name, "s3cret")
    monkeypatch.setattr(child, "_check_installed", lambda: None)
    monkeypatch.setattr(subprocess, "Popen", popen)
    with pytest.raises(Stop):
        child.start_child(child.LlamaSettings(str(path), 512, 1, 1, str(tmp_path / "kept")))
    assert name not in seen
    assert seen["PATH"] == os.environ["PATH"]
