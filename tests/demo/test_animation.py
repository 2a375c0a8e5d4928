"""The container of the walk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.demo.animation import Frame, animated
from tests.demo.walk import keep, kept


def picture(content: bytes) -> bytes:
    """A WebP of one picture, as a canvas writes it; an odd one is padded."""
    padded = content + b"\0" * (len(content) % 2)
    body = b"WEBP" + b"VP8 " + len(content).to_bytes(4, "little") + padded
    return b"RIFF" + len(body).to_bytes(4, "little") + body


def chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """What a reader of RIFF finds."""
    found, at = [], 0
    while at < len(data):
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        found.append((data[at : at + 4], data[at + 8 : at + 8 + length]))
        at += 8 + length + length % 2
    return found


def test_it_holds_every_picture_for_its_time() -> None:
    file = animated([Frame(picture(b"one"), 1500), Frame(picture(b"four"), 2500)], 1200, 750)
    ((name, whole),) = chunks(file)
    assert (name, whole[:4]) == (b"RIFF", b"WEBP")
    head, loop, first, second = chunks(whole[4:])
    assert head == (
        b"VP8X",
        b"\x02\0\0\0" + (1199).to_bytes(3, "little") + (749).to_bytes(3, "little"),
    )
    assert loop[0] == b"ANIM"
    for (kind, content), (shown, milliseconds) in zip(
        (first, second), ((b"one", 1500), (b"four", 2500)), strict=True
    ):
        assert kind == b"ANMF"
        assert int.from_bytes(content[12:15], "little") == milliseconds
        assert chunks(content[16:]) == [(b"VP8 ", shown)]


def test_frames_are_kept_for_a_walk_that_goes_on_elsewhere(tmp_path: Path) -> None:
    taken = [Frame(b"one", 3500), Frame(b"two", 3000)]
    keep([*taken, *taken], tmp_path / "walk")
    keep(taken, tmp_path / "walk")
    assert kept(tmp_path / "walk") == taken
    assert kept(tmp_path / "none") == []


@pytest.mark.parametrize("data", [b"", b"GIF89a", picture(b"x").replace(b"VP8 ", b"VP8L")])
def test_what_is_no_lossy_picture_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="WebP"):
        animated([Frame(data, 1)], 2, 2)
