from __future__ import annotations

import fcntl
import os

import pytest

from storage.agent.kernel import dm
from tests.fake import FakeHost
from tests.fake.fixtures import fake_host as fake_host
from tests.fake.hands import Hands


def test_an_active_volume_is_found_by_its_name_without_lvm(fake_host: FakeHost) -> None:
    dashed = Hands(fake_host).add_lv("web-data", 64 << 20)
    plain = Hands(fake_host).add_lv("web", 64 << 20)
    before = list(fake_host.executed)
    assert dm.lv_uuid(fake_host, "vg0", "web-data") == dashed.uuid
    assert dm.lv_uuid(fake_host, "vg0", "web") == plain.uuid
    assert fake_host.executed == before


def test_a_volume_that_the_kernel_does_not_have_is_left_out(fake_host: FakeHost) -> None:
    assert dm.lv_uuid(fake_host, "vg0", "web") is None


def test_an_answer_longer_than_usual_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel marks the answer that does not fit into the buffer, and writes none."""
    sizes: list[int] = []

    def ioctl(control: int, request: int, buffer: bytearray, mutate: bool) -> int:
        sizes.append(len(buffer))
        start, answer = dm._HEADER.size, b"x" * 20_000 + b"\0"
        flags = dm.DATA_OUT
        if start + len(answer) > len(buffer):
            flags |= dm.BUFFER_FULL
        else:
            buffer[start : start + len(answer)] = answer
        buffer[28:32] = flags.to_bytes(4, "little")
        return 0

    monkeypatch.setattr(dm, "CONTROL", os.devnull)
    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    assert dm.message("vg0-web", "@stats_list tiercel") == "x" * 20_000
    assert sizes == [dm.USUAL_ANSWER, dm.ANSWER_LIMIT]
