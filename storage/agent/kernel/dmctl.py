"""Messages to device-mapper targets by ioctl on /dev/mapper/control (linux/dm-ioctl.h).

`dmsetup message` would do the same with one process per volume and sample.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct

CONTROL = "/dev/mapper/control"
TARGET_MESSAGE = 0xC138FD0E  # _IOWR(0xfd, 14, struct dm_ioctl)
BUFFER_FULL = 1 << 8
DATA_OUT = 1 << 16
ANSWER_LIMIT = 256 * 1024

# version[3], data_size, data_start, target_count, open_count, flags, event_nr, padding, dev,
# name[128], uuid[129], padding to 312 bytes.
_HEADER = struct.Struct("=3I2IIiIIIQ128s129s7s")


def message(name: str, text: str) -> str:
    """Send `text` to sector 0 of the device and return the answer. Raises OSError; ENOBUFS when
    the answer does not fit into ANSWER_LIMIT."""
    body = struct.pack("=Q", 0) + text.encode() + b"\0"
    header = _HEADER.pack(
        4, 0, 0, ANSWER_LIMIT, _HEADER.size, 0, 0, 0, 0, 0, 0, name.encode(), b"", b""
    )
    buffer = bytearray(ANSWER_LIMIT)
    buffer[: len(header) + len(body)] = header + body
    control = os.open(CONTROL, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.ioctl(control, TARGET_MESSAGE, buffer, True)
    finally:
        os.close(control)
    fields = _HEADER.unpack_from(buffer)
    start, flags = fields[4], fields[7]
    if flags & BUFFER_FULL:
        raise OSError(errno.ENOBUFS, os.strerror(errno.ENOBUFS))
    if not flags & DATA_OUT:
        return ""
    return bytes(buffer[start:]).split(b"\0", 1)[0].decode("utf-8", "replace")
