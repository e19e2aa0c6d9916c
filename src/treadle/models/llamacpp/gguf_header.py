"""Validates the header of a GGUF file before llama.cpp reads it: the sizes it claims must fit into the file.

llama.cpp is written in C++, and several of its vulnerabilities were sizes that a file claims. A file from elsewhere may claim
any number of strings, tensors and bytes; what doesn't lie inside of it is refused here. The weights themselves aren't
checked.
"""

import mmap
import os
import stat
import struct

from treadle.core.errors import SettingsError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_KEYS = 65_536
MAX_TENSORS = 1_000_000
MAX_DIMENSIONS = 4
MAX_NAME = 65_535  # bytes of a key
ALIGNMENT = 32  # bytes, unless the file says otherwise
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes of a number, by its type
STRING, ARRAY, UINT32 = 8, 9, 4

_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
_HEAD = struct.Struct("<4sIQQ")


class _InvalidHeader(ValueError):
    """Raised where something in the file lies outside of it, or is invalid."""


def check_gguf_header(path: str) -> None:
    """Raise a `SettingsError` if a file isn't a complete GGUF file that holds what it claims."""
    try:
        _check_file(path)
    except (OSError, _InvalidHeader, struct.error) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise SettingsError(f"{path} can't be loaded: {why}. Is it a whole GGUF file?") from error


def _check_file(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe without a writer mustn't block
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise _InvalidHeader("it is no file")
        if about.st_size < _HEAD.size:
            raise _InvalidHeader("it ends too early")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            _HeaderWalker(data).check()


class _HeaderWalker:
    """Walks through the header from its beginning to its end."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._size = len(data)
        self._at = _HEAD.size
        self._alignment = ALIGNMENT

    def check(self) -> None:
        """Raise an error if the header is invalid."""
        magic, version, tensors, keys = _HEAD.unpack_from(self._data)
        if magic != MAGIC or version not in VERSIONS:
            raise _InvalidHeader(f"it is no GGUF file of version {' or '.join(map(str, VERSIONS))}")
        if keys > MAX_KEYS or tensors > MAX_TENSORS:
            raise _InvalidHeader(f"it claims {keys:,} keys and {tensors:,} tensors")
        for _ in range(keys):
            self._check_key()
        claimed = [self._read_tensor() for _ in range(tensors)]
        begin = -(-self._at // self._alignment) * self._alignment
        for offset, least in claimed:
            if offset % self._alignment or begin + offset + least > self._size:
                raise _InvalidHeader("the data of a tensor lies outside of it")

    def _check_key(self) -> None:
        begin, length = self._skip_string(MAX_NAME)
        name = self._data[begin : begin + length]
        kind = self._read_u32()
        if name == b"general.alignment":
            self._alignment = self._read_alignment(kind)
        elif kind == STRING:
            self._skip_string(self._size)
        elif kind == ARRAY:
            self._skip_array()
        else:
            self._skip(self._size_of_type(kind))

    def _read_alignment(self, kind: int) -> int:
        alignment = self._read_u32() if kind == UINT32 else 0
        if not 1 <= alignment <= 2**20 or alignment & (alignment - 1):
            raise _InvalidHeader("its alignment can't be")
        return alignment

    def _skip_array(self) -> None:
        kind, length = self._read_u32(), self._read_u64()
        if kind != STRING:
            return self._skip(self._size_of_type(kind) * length)
        if length > (self._size - self._at) // _U64.size:
            raise _InvalidHeader("a list is longer than the file")
        data, at, size, unpack = self._data, self._at, self._size, _U64.unpack_from  # a vocabulary has 300,000
        for _ in range(length):
            at += _U64.size + unpack(data, at)[0]
            if at > size:
                raise _InvalidHeader("it ends too early")
        self._at = at
        return None

    def _read_tensor(self) -> tuple[int, int]:
        """Return a tensor's offset and minimum size in bytes: no format has less than a bit per weight."""
        self._skip_string(MAX_NAME)
        dimensions = self._read_u32()
        if not 1 <= dimensions <= MAX_DIMENSIONS:
            raise _InvalidHeader(f"a tensor has {dimensions:,} dimensions")
        weights = 1
        for _ in range(dimensions):
            weights *= self._read_u64()
        self._read_u32()
        if not 0 < weights < 2**63:
            raise _InvalidHeader(f"a tensor has {weights:,} weights")
        return self._read_u64(), weights // 8

    def _skip_string(self, most: int) -> tuple[int, int]:
        length = self._read_u64()
        if length > most:
            raise _InvalidHeader("a name is too long")
        begin = self._at
        self._skip(length)
        return begin, length

    def _size_of_type(self, kind: int) -> int:
        if kind not in SIZES:
            raise _InvalidHeader(f"it has a value of the type {kind:,}, which there isn't")
        return SIZES[kind]

    def _read_u32(self) -> int:
        (value,) = _U32.unpack_from(self._data, self._at)
        self._at += _U32.size
        return value

    def _read_u64(self) -> int:
        (value,) = _U64.unpack_from(self._data, self._at)
        self._at += _U64.size
        return value

    def _skip(self, size: int) -> None:
        if size > self._size - self._at:
            raise _InvalidHeader("it ends too early")
        self._at += size
