"""The head of a GGUF file, checked before llama.cpp reads it: what it claims has to fit into the file.

llama.cpp is written in C++, and several of its vulnerabilities were sizes that a file claims. A file from elsewhere may claim any
number of strings, tensors and bytes; what doesn't lie inside of it is refused here. What its weights say isn't looked at.
"""

import mmap
import os
import stat
import struct

from treadle.core.errors import SettingsError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MOST_KEYS = 65_536
MOST_TENSORS = 1_000_000
MOST_DIMENSIONS = 4
MOST_NAME = 65_535  # bytes of a key
ALIGNMENT = 32  # bytes, unless the file says otherwise
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes of a number, by its type
STRING, ARRAY, UINT32 = 8, 9, 4

_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
_HEAD = struct.Struct("<4sIQQ")


class _Misfit(ValueError):
    """Something in the file lies outside of it, or can't be."""


def check_header(path: str) -> None:
    """Raise a `SettingsError` where a file isn't a GGUF file that is whole and holds what it claims."""
    try:
        _check(path)
    except (OSError, _Misfit, struct.error) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise SettingsError(f"{path} can't be loaded: {why}. Is it a whole GGUF file?") from error


def _check(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe that nobody writes to mustn't hold us up
    with os.fdopen(descriptor, "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise _Misfit("it is no file")
        if about.st_size < _HEAD.size:
            raise _Misfit("it ends too early")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            _Header(data).check()


class _Header:
    """Walks through the head from its beginning to its end."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._size = len(data)
        self._at = _HEAD.size
        self._alignment = ALIGNMENT

    def check(self) -> None:
        """Raise where something is wrong."""
        magic, version, tensors, keys = _HEAD.unpack_from(self._data)
        if magic != MAGIC or version not in VERSIONS:
            raise _Misfit(f"it is no GGUF file of version {' or '.join(map(str, VERSIONS))}")
        if keys > MOST_KEYS or tensors > MOST_TENSORS:
            raise _Misfit(f"it claims {keys:,} keys and {tensors:,} tensors")
        for _ in range(keys):
            self._key()
        claimed = [self._tensor() for _ in range(tensors)]
        begin = -(-self._at // self._alignment) * self._alignment
        for offset, least in claimed:
            if offset % self._alignment or begin + offset + least > self._size:
                raise _Misfit("the data of a tensor lies outside of it")

    def _key(self) -> None:
        begin, length = self._string(MOST_NAME)
        name = self._data[begin : begin + length]
        kind = self._u32()
        if name == b"general.alignment":
            self._alignment = self._aligned(kind)
        elif kind == STRING:
            self._string(self._size)
        elif kind == ARRAY:
            self._array()
        else:
            self._skip(self._width(kind))

    def _aligned(self, kind: int) -> int:
        alignment = self._u32() if kind == UINT32 else 0
        if not 1 <= alignment <= 2**20 or alignment & (alignment - 1):
            raise _Misfit("its alignment can't be")
        return alignment

    def _array(self) -> None:
        kind, length = self._u32(), self._u64()
        if kind != STRING:
            return self._skip(self._width(kind) * length)
        if length > (self._size - self._at) // _U64.size:
            raise _Misfit("a list is longer than the file")
        data, at, size, unpack = self._data, self._at, self._size, _U64.unpack_from  # a vocabulary has 300,000
        for _ in range(length):
            at += _U64.size + unpack(data, at)[0]
            if at > size:
                raise _Misfit("it ends too early")
        self._at = at
        return None

    def _tensor(self) -> tuple[int, int]:
        """Where a tensor's data begins, and how many bytes it has at least: no format has less than a bit for a weight."""
        self._string(MOST_NAME)
        dimensions = self._u32()
        if not 1 <= dimensions <= MOST_DIMENSIONS:
            raise _Misfit(f"a tensor has {dimensions:,} dimensions")
        weights = 1
        for _ in range(dimensions):
            weights *= self._u64()
        self._u32()
        if not 0 < weights < 2**63:
            raise _Misfit(f"a tensor has {weights:,} weights")
        return self._u64(), weights // 8

    def _string(self, most: int) -> tuple[int, int]:
        length = self._u64()
        if length > most:
            raise _Misfit("a name is too long")
        begin = self._at
        self._skip(length)
        return begin, length

    def _width(self, kind: int) -> int:
        if kind not in SIZES:
            raise _Misfit(f"it has a value of the type {kind:,}, which there isn't")
        return SIZES[kind]

    def _u32(self) -> int:
        (value,) = _U32.unpack_from(self._data, self._at)
        self._at += _U32.size
        return value

    def _u64(self) -> int:
        (value,) = _U64.unpack_from(self._data, self._at)
        self._at += _U64.size
        return value

    def _skip(self, size: int) -> None:
        if size > self._size - self._at:
            raise _Misfit("it ends too early")
        self._at += size
