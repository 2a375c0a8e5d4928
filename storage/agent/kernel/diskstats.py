"""/proc/diskstats: what each block device has done. Pure."""

from __future__ import annotations

FIELDS = 17


def diskstats(text: str) -> dict[str, list[int]]:
    """Device name -> its first 17 fields; older kernels have fewer: zeros."""
    fields_by_name = {}
    for line in text.splitlines():
        words = line.split()
        numbers = words[3 : 3 + FIELDS]
        if len(words) > 3 and all(word.isdecimal() for word in numbers):
            fields_by_name[words[2]] = [int(word) for word in numbers] + [0] * (
                FIELDS - len(numbers)
            )
    return fields_by_name
