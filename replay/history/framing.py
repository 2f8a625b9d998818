"""What a log is packed in.

Responsible for telling a packing by its first bytes, and for unpacking it piece by piece. Refuses to know what is
inside. Invariant: everything before a cut or damaged place is given out before `Damaged` is raised; a piece is no
larger than `PIECE_BYTES`, or than one block of the packing.

Spark's own lz4 and snappy are not the formats of those names' tools: lz4-java's LZ4BlockOutputStream and snappy-java's
SnappyOutputStream put frames of their own around plain blocks. Both may follow one another in a file, as gzip's and
zstd's may. Checksums are not looked at: a block that unpacks to its length is taken.
"""

from __future__ import annotations

import importlib
import zlib
from collections.abc import Callable, Generator, Iterator
from typing import IO, Any, TypeAlias

PIECE_BYTES = 1 << 20
#: Spark's blocks have 32 KiB, at most some MiB; a larger one is damage.
LARGEST_BLOCK_BYTES = 64 << 20

Pieces: TypeAlias = Iterator[bytes]


class Damaged(Exception):  # noqa: N818 - it says what is so
    """From here on the file cannot be read; what came before stands."""


def pieces(stream: IO[bytes]) -> Pieces:
    """The unpacked bytes of a stream, whatever it is packed in."""
    source = _Source(stream)
    unpack = next((unpack for magic, unpack in _PACKINGS if source.head.startswith(magic)), _plain)
    return unpack(source)


class _Source:
    """A stream whose first bytes were looked at."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.head = stream.read(_HEAD_BYTES)

    def read(self, size: int = PIECE_BYTES) -> bytes:
        """At most this much; empty at the end only."""
        if self.head:
            found, self.head = self.head[:size], self.head[size:]
            return found
        return self._stream.read(size)

    def exactly(self, size: int, what: str) -> bytes:
        """This much; `Damaged` if there is less."""
        found = self.next(size, what)
        if len(found) < size:
            raise Damaged(f"it is cut before {what}")
        return found

    def next(self, size: int, what: str) -> bytes:
        """This much; empty at the end of the stream; `Damaged` if there is something, but less."""
        found = self.read(size)
        while found and len(found) < size:
            more = self.read(size - len(found))
            if not more:
                raise Damaged(f"it is cut within {what}: {len(found)} of {size:,} bytes are there")
            found += more
        return found


def _plain(source: _Source) -> Pieces:
    while piece := source.read():
        yield piece


def _gzip(source: _Source) -> Pieces:
    member, begun, packed = zlib.decompressobj(wbits=31), False, b""
    while packed := packed or source.read():
        packed = packed if begun else packed.lstrip(b"\0")  # behind a member they fill up a block
        begun = bool(packed) or begun
        try:
            piece = member.decompress(packed, PIECE_BYTES)
        except zlib.error as error:
            raise Damaged(f"its gzip data are damaged ({error})") from error
        if piece:
            yield piece
        packed = member.unconsumed_tail
        if member.eof:  # another member may follow
            packed, member, begun = member.unused_data, zlib.decompressobj(wbits=31), False
    if begun:
        yield member.flush()
        raise Damaged("its gzip data are cut")


def _zstd(source: _Source) -> Pieces:
    zstandard = _library("zstandard", "zstd")
    watched = _Blocks(source)
    reader = zstandard.ZstdDecompressor().stream_reader(watched, read_across_frames=True)
    while True:
        try:
            piece = reader.read1(PIECE_BYTES)
        except zstandard.ZstdError as error:
            raise Damaged(f"its zstd data are damaged ({error})") from error
        if not piece:
            break
        yield piece
    if watched.are_cut:  # the library ends without a word
        raise Damaged("its zstd data are cut")


class _Blocks:
    """A source of zstd data that knows whether they end where a block does. A log that is being written ends so too."""

    def __init__(self, source: _Source) -> None:
        self._source = source
        self._parts = self._follow()
        self._skip, self._want = next(self._parts)
        self._held = b""
        self._is_between = True  #: What is wanted next may be missing.

    def read(self, size: int) -> bytes:
        """The next bytes of the source, unchanged; at most ``size``."""
        found = self._source.read(size)
        at = 0
        while at < len(found):
            over = min(self._skip, len(found) - at)
            more = found[at + over : at + over + self._want - len(self._held)] if over == self._skip else b""
            self._skip, self._held, at = self._skip - over, self._held + more, at + over + len(more)
            if not self._skip and len(self._held) == self._want:
                held, self._held = self._held, b""
                self._skip, self._want = self._parts.send(held)
        return found

    @property
    def are_cut(self) -> bool:
        """Whether the data end in the middle of a block or a frame."""
        return bool(self._skip or self._held or not self._is_between)

    def _follow(self) -> Generator[tuple[int, int], bytes, None]:
        """Follows the zstd format. Yields how many bytes to skip, and how many to hand over after those.

        Data that are no zstd are not its affair: the library says so.
        """
        skip = 0
        while True:
            self._is_between = True
            magic = yield skip, 4
            self._is_between = False
            if magic != _ZSTD:  # what may be skipped
                skip = int.from_bytes((yield 0, 4), "little")
                continue
            (flags,) = yield 0, 1
            is_single, is_checked = flags & 0x20, flags & 0x04
            skip = (0 if is_single else 1) + (0, 1, 2, 4)[flags & 3] + ((1 if is_single else 0), 2, 4, 8)[flags >> 6]
            is_last = False
            while not is_last:
                block = int.from_bytes((yield skip, 3), "little")
                is_last, kind = bool(block & 1), block >> 1 & 3
                skip = 1 if kind == _ZSTD_REPEATED else block >> 3
                self._is_between = not is_last
            skip += 4 if is_checked else 0


_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_REPEATED = 1  #: A block of one byte that stands for many.


# ---- LZ4BlockOutputStream: magic, token, packed length, length, checksum (little-endian), block ----------------------

_LZ4_BLOCK = b"LZ4Block"
_LZ4_RAW, _LZ4_PACKED = 0x10, 0x20


def _lz4(source: _Source) -> Pieces:
    unpack = _library("cramjam", "lz4").lz4.decompress_block
    while header := source.next(21, "the header of an lz4 block"):
        if not header.startswith(_LZ4_BLOCK):
            raise Damaged(f"an lz4 block begins with {header[:8]!r}; expected {_LZ4_BLOCK!r}")
        method = header[8] & 0xF0
        packed_size, size = (_size(header[at : at + 4], "little", "lz4") for at in (9, 13))
        if size == 0:
            continue  # the end of one stream; another may follow
        block = source.exactly(packed_size, "an lz4 block")
        if method == _LZ4_RAW:
            yield block
        elif method == _LZ4_PACKED:
            yield _unpacked(unpack, block, "lz4", output_len=size)
        else:
            raise Damaged(f"an lz4 block is packed by method {method:#x}; expected {_LZ4_RAW:#x} or {_LZ4_PACKED:#x}")


# ---- SnappyOutputStream: magic, two versions; then lengths (big-endian) and blocks -----------------------------------

_SNAPPY = b"\x82SNAPPY\0"


def _snappy(source: _Source) -> Pieces:
    unpack = _library("cramjam", "snappy").snappy.decompress_raw
    source.exactly(16, "the header of a snappy stream")
    while length := source.next(4, "the length of a snappy block"):
        if length == _SNAPPY[:4]:  # no length: another stream begins
            source.exactly(12, "the header of a snappy stream")
            continue
        block = source.exactly(_size(length, "big", "snappy"), "a snappy block")
        _check_unpacked_size(block)
        yield _unpacked(unpack, block, "snappy")


def _check_unpacked_size(block: bytes) -> None:
    """A block begins with the length that it unpacks to, seven bits a byte: the library makes room for it unasked."""
    length = 0
    for place, byte in enumerate(block[:5]):
        length |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            break
    _size(length.to_bytes(8, "big"), "big", "snappy")


def _size(number: bytes, order: Any, what: str) -> int:
    size = int.from_bytes(number, order)
    if size > LARGEST_BLOCK_BYTES:
        raise Damaged(f"a block of {what} says that it has {size:,} bytes; expected at most {LARGEST_BLOCK_BYTES:,}")
    return size


def _unpacked(unpack: Callable[..., Any], block: bytes, what: str, **how: int) -> bytes:
    try:
        return bytes(unpack(block, **how))
    except Exception as error:  # the library's own errors have no common base
        raise Damaged(f"a block of {what} cannot be unpacked ({error})") from error


def _unreadable(why: str) -> Callable[[_Source], Pieces]:
    def refuse(_: _Source) -> Pieces:
        raise Damaged(why)

    return refuse


def _library(name: str, packing: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Damaged(
            f"it is packed with {packing}, and the package {name!r} is not installed; "
            "install it: pip install '.[advise]' in a clone"
        ) from error


_PACKINGS: tuple[tuple[bytes, Callable[[_Source], Pieces]], ...] = (
    (b"\x1f\x8b", _gzip),
    (_ZSTD, _zstd),
    (_LZ4_BLOCK, _lz4),
    (_SNAPPY, _snappy),
    (b"\x04\x22\x4d\x18", _unreadable("it is in the lz4 tool's own format, which Spark does not write; unpack it")),
    (b"\xff\x06\0\0sNaPpY", _unreadable("it is in snappy's framing format, which Spark does not write; unpack it")),
    (b"ZV", _unreadable("it is packed with LZF, which no library here reads; unpack it")),
    (b"PK\x03\x04", _unreadable("it is a zip file; unpack it")),
    (b"BZh", _unreadable("it is packed with bzip2; unpack it")),
)
_HEAD_BYTES = max(len(magic) for magic, _ in _PACKINGS)
