"""An animated WebP from single pictures, each as a lossy WebP that a browser's canvas made.

The container is the one of Google's specification (RIFF, VP8X, ANIM, one ANMF a frame); the
pictures themselves are not decoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

HAS_ANIMATION, DO_NOT_BLEND = 0x02, 0x02
FOREVER = 0


@dataclass(frozen=True, slots=True)
class Frame:
    """`webp` is a file of one picture; it is shown for so long."""

    webp: bytes
    milliseconds: int


def animated(frames: Sequence[Frame], width: int, height: int) -> bytes:
    """The file. Every frame fills the whole picture; it repeats for ever."""
    size = _three(width - 1) + _three(height - 1)
    body = _chunk(b"VP8X", bytes([HAS_ANIMATION, 0, 0, 0]) + size)
    body += _chunk(b"ANIM", b"\xff\xff\xff\xff" + FOREVER.to_bytes(2, "little"))
    for frame in frames:
        place = _three(0) + _three(0) + size + _three(frame.milliseconds)
        body += _chunk(b"ANMF", place + bytes([DO_NOT_BLEND]) + _picture(frame.webp))
    return b"RIFF" + (4 + len(body)).to_bytes(4, "little") + b"WEBP" + body


def _picture(webp: bytes) -> bytes:
    """Its chunk with the lossy picture, header and all."""
    if webp[:4] != b"RIFF" or webp[8:12] != b"WEBP":
        raise ValueError("not a WebP")
    at = 12
    while at < len(webp):
        name, length = webp[at : at + 4], int.from_bytes(webp[at + 4 : at + 8], "little")
        if name == b"VP8 ":
            return _chunk(name, webp[at + 8 : at + 8 + length])
        at += 8 + length + length % 2
    raise ValueError("a WebP without a lossy picture")


def _chunk(name: bytes, content: bytes) -> bytes:
    """Chunks begin at even places."""
    return name + len(content).to_bytes(4, "little") + content + b"\0" * (len(content) % 2)


def _three(number: int) -> bytes:
    return number.to_bytes(3, "little")
