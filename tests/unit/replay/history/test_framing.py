"""What logs are packed in: all of it comes out again, in pieces; what is cut or damaged gives what came before."""

from __future__ import annotations

import gzip
import io
import struct
from collections.abc import Callable

import cramjam
import pytest
import zstandard

from replay.history.framing import PIECE_BYTES, Damaged, pieces

#: Longer than one piece, and not to be packed to almost nothing.
TEXT = b"".join(b'{"Event":"SparkListenerTaskEnd","Stage ID":%d}\n' % n for n in range(60_000))


def lz4_stream(text: bytes, block: int = 32 << 10, raw: bool = False) -> bytes:
    """As lz4-java's LZ4BlockOutputStream writes it."""
    parts = []
    for at in range(0, len(text), block):
        plain = text[at : at + block]
        packed = plain if raw else bytes(cramjam.lz4.compress_block(plain, store_size=False))
        parts.append(b"LZ4Block" + struct.pack("<Biii", 0x16 if raw else 0x26, len(packed), len(plain), 0) + packed)
    return b"".join(parts) + b"LZ4Block" + struct.pack("<Biii", 0x16, 0, 0, 0)


def snappy_stream(text: bytes, block: int = 32 << 10) -> bytes:
    """As snappy-java's SnappyOutputStream writes it."""
    blocks = [bytes(cramjam.snappy.compress_raw(text[at : at + block])) for at in range(0, len(text), block)]
    return b"\x82SNAPPY\0" + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(b)) + b for b in blocks)


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda text: text,
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "lz4": lz4_stream,
    "lz4, blocks that do not shrink": lambda text: lz4_stream(text, raw=True),
    "snappy": snappy_stream,
}


def read(packed: bytes) -> bytes:
    return b"".join(pieces(io.BytesIO(packed)))


def read_until_damage(packed: bytes) -> tuple[bytes, str]:
    found = b""
    try:
        for piece in pieces(io.BytesIO(packed)):
            found += piece
    except Damaged as damage:
        return found, str(damage)
    return found, ""


@pytest.mark.parametrize("packing", PACKINGS)
def test_what_is_packed_comes_out_as_it_went_in(packing: str) -> None:
    assert read(PACKINGS[packing](TEXT)) == TEXT


@pytest.mark.parametrize("packing", PACKINGS)
def test_pieces_are_small(packing: str) -> None:
    assert max(map(len, pieces(io.BytesIO(PACKINGS[packing](TEXT))))) <= PIECE_BYTES


@pytest.mark.parametrize("packing", PACKINGS)
def test_one_may_follow_another(packing: str) -> None:
    pack = PACKINGS[packing]
    assert read(pack(TEXT) + pack(b"more\n")) == TEXT + b"more\n"


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_cut_one_gives_what_came_before(packing: str) -> None:
    packed = PACKINGS[packing](TEXT)
    found, damage = read_until_damage(packed[: len(packed) * 2 // 3])
    assert TEXT.startswith(found)
    assert len(found) > len(TEXT) // 2
    if packing != "plain":  # of that only the last line tells
        assert "cut" in damage


@pytest.mark.parametrize(
    ("packing", "behind", "what"),
    [
        ("lz4", 21, "an lz4 block"),
        ("lz4, blocks that do not shrink", 21, "an lz4 block"),
        ("snappy", 16 + 4, "a snappy block"),
        ("snappy", 4, "the header of a snappy stream"),
    ],
)
def test_one_that_is_cut_right_behind_a_length_says_so(packing: str, behind: int, what: str) -> None:
    """There is not a byte of what was announced."""
    packed = PACKINGS[packing](TEXT)
    assert read_until_damage(packed + packed[:behind]) == (TEXT, f"it is cut before {what}")


def test_zeros_behind_gzip_may_be_more_than_a_piece() -> None:
    packed = gzip.compress(b"one\n") + bytes(2 * PIECE_BYTES)
    assert read(packed) == b"one\n"
    assert read(packed + packed) == b"one\none\n"


def zstd_frames() -> bytes:
    """Frames of every shape: with and without a checksum and a size, of one block and of many, and one to skip."""
    bare = zstandard.ZstdCompressor(write_content_size=False, write_checksum=False)
    checked = zstandard.ZstdCompressor(write_checksum=True)
    flushed = zstandard.ZstdCompressor().compressobj()
    parts = flushed.compress(b"one\n"), flushed.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK), flushed.compress(b"two\n")
    skipped = b"\x53\x2a\x4d\x18" + struct.pack("<I", 5) + b"never"
    repeated = zstandard.ZstdCompressor().compress(b"a" * 300_000)
    return b"".join([bare.compress(TEXT), skipped, checked.compress(b"x"), repeated, *parts, flushed.flush()])


@pytest.mark.parametrize("at_a_time", [1, 3, 1 << 20])
def test_zstd_that_is_whole_is_not_cut(at_a_time: int) -> None:
    packed = zstd_frames()

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(size or -1, at_a_time) if size and size > 0 and self.tell() else size)

    found = b"".join(pieces(Slow(packed)))
    assert found == TEXT + b"x" + b"a" * 300_000 + b"one\ntwo\n"


def test_zstd_that_is_cut_says_so_wherever_it_is_cut() -> None:
    whole = zstandard.ZstdCompressor(write_checksum=True).compress(TEXT)
    places = 4, 5, 9, 50, len(whole) // 2, len(whole) - 5, len(whole) - 1
    told = {at: read_until_damage(whole[:at])[1] for at in places}
    assert set(told.values()) == {"its zstd data are cut"}, told


def test_zstd_that_is_being_written_is_not_cut() -> None:
    """A block has ended, the frame goes on."""
    writing = zstandard.ZstdCompressor().compressobj()
    begun = writing.compress(TEXT) + writing.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    assert read_until_damage(begun) == (TEXT, "")


def test_a_damaged_block_is_named() -> None:
    packed = bytearray(lz4_stream(TEXT))
    packed[packed.find(b"LZ4Block", 100)] = 0
    found, damage = read_until_damage(bytes(packed))
    assert len(found) == 32 << 10
    assert "expected b'LZ4Block'" in damage


def test_an_absurd_length_is_not_believed() -> None:
    packed = b"\x82SNAPPY\0" + struct.pack(">iii", 1, 1, 2_000_000_000)
    assert read_until_damage(packed) == (
        b"",
        "a block of snappy says that it has 2,000,000,000 bytes; expected at most 67,108,864",
    )


@pytest.mark.parametrize(("head", "word"), [(b"PK\x03\x04", "zip"), (b"ZV\1", "LZF"), (b"\x04\x22\x4d\x18", "lz4")])
def test_what_cannot_be_read_is_named(head: bytes, word: str) -> None:
    assert word in read_until_damage(head + bytes(100))[1]


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    assert "pip install '.[advise]'" in read_until_damage(PACKINGS["zstd"](TEXT))[1]


def test_a_snappy_block_is_not_believed_to_be_huge() -> None:
    """The library would make room for 4 GiB, and end the process where there is none."""
    block = b"\xff\xff\xff\xff\x0f\0\0\0"
    stream = io.BytesIO(b"\x82SNAPPY\0" + bytes(8) + len(block).to_bytes(4, "big") + block)
    with pytest.raises(Damaged, match=r"snappy says that it has 4,294,967,295 bytes; expected at most 67,108,864"):
        list(pieces(stream))
