"""/proc/diskstats: what each block device has done. Pure."""

from __future__ import annotations

from collections.abc import Collection

FIELDS = 17


def diskstats(text: str, knames: Collection[str] | None = None) -> dict[str, list[int]]:
    """Device name -> its first 17 fields, of `knames` or of all. What older kernels lack is 0."""
    fields_by_name = {}
    for line in text.splitlines():
        words = line.split()
        if knames is not None and len(words) > 2 and words[2] not in knames:
            continue
        numbers = words[3 : 3 + FIELDS]
        if len(words) > 3 and all(word.isdecimal() for word in numbers):
            fields_by_name[words[2]] = [int(word) for word in numbers] + [0] * (
                FIELDS - len(numbers)
            )
    return fields_by_name
