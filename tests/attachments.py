"""Small images, recordings and documents that are what they say, made without any library."""

import os
import struct
import zlib


def png(width: int = 2, height: int = 2, *, noise: bool = False) -> bytes:
    """A picture, grey or of noise, which can't be compressed."""
    rows = b"".join([b"\0" + (os.urandom(3 * width) if noise else b"\x80" * 3 * width) for _ in range(height)])
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join([_chunk(kind, data) for kind, data in chunks])


def png_header(width: int, height: int) -> bytes:
    """A picture that says how large it is, and has nothing in it."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(b"")) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def wav(seconds: float = 0.01) -> bytes:
    """Silence."""
    samples = b"\0\0" * int(8000 * seconds)
    form = struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(samples)) + samples
    return b"RIFF" + struct.pack("<I", len(body)) + body


PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n\xe2\xe3"
MP3 = b"\xff\xfb\x90\x00" + bytes(100)
