"""The agent's `sample` reply, checked and decoded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from storage.host_data import decoded
from storage.metrics.counters.shapes import Stamp, VolumeCounters

TEXT_LIMIT: Final = 255


@dataclass(frozen=True, slots=True)
class _Sample:
    volumes: tuple[VolumeCounters, ...]

    def __post_init__(self) -> None:
        if len({volume.lv_uuid for volume in self.volumes}) != len(self.volumes):
            raise ValueError("one logical volume appears twice")


def decode(data: object) -> tuple[VolumeCounters, ...]:
    """The `data` of a `sample` reply; raises `BadHostData`."""
    return decoded(data, _Sample, "sample", TEXT_LIMIT).volumes


def decode_stamp(host: object) -> Stamp:
    """The `host` block of a reply; raises `BadHostData`."""
    return decoded(host, Stamp, "host", TEXT_LIMIT)


def decode_volume(data: object) -> VolumeCounters:
    """The counters that `encode` kept of a volume; raises `BadHostData`."""
    return decoded(data, VolumeCounters, "volume", TEXT_LIMIT)


def encode(volume: VolumeCounters) -> dict[str, Any]:
    """Plain data that decodes to the same counters."""
    plain: dict[str, Any] = msgspec.to_builtins(volume)
    return plain
