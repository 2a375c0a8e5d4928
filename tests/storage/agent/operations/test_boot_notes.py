"""What the next boot needs is on disk before a volume depends on it."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest

from storage.agent.operations.boot import boot
from storage.agent.state import boot_state
from tests.contract.client import Agent, cset_args
from tests.fake import FakeHost


@pytest.fixture
def full(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The list of what comes back takes nothing new, until this is undone."""
    save = host.save

    def saved(path: str, data: bytes) -> None:
        if path == boot_state.PATH:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        save(path, data)

    monkeypatch.setattr(host, "save", saved)
    return monkeypatch


def failed(agent: Agent, verb: str, args: dict[str, Any]) -> str:
    outcome = agent.outcome(agent.start(verb, args))
    assert outcome["state"] == "failed", outcome
    return str(outcome["error"]["code"])


def test_a_volume_that_cannot_be_noted_is_not_formatted_and_comes_back_once_it_is(
    host: FakeHost, agent: Agent, full: pytest.MonkeyPatch
) -> None:
    volume = agent.volume("bcache")
    assert failed(agent, "bcache.format", {"lv": volume}) == "journal_unwritable"
    assert "tiercel.format=bcache" in agent.lv(volume)["tags"]
    full.undo()
    agent.do("bcache.format", {"lv": volume})
    host.root.reboot(registers=False)
    assert boot(host)[1] == []
    assert agent.lv(volume)["bcache"] is not None


def test_a_volume_whose_format_was_cut_off_after_its_note_comes_back_and_is_finished(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume("bcache")
    host.cut_next("lvchange")
    agent.start("bcache.format", {"lv": volume})
    host.wait_for_ops()
    host.root.reboot(registers=False)
    assert boot(host)[1] == []
    assert agent.lv(volume)["bcache"] is not None
    agent.do("bcache.format", {"lv": volume})
    assert "tiercel.format=bcache" not in agent.lv(volume)["tags"]


def test_a_cache_set_that_cannot_be_noted_is_not_registered(
    agent: Agent, full: pytest.MonkeyPatch, host: FakeHost
) -> None:
    volume = agent.volume("bcache")
    with host.changing() as machine:
        machine.bcache_rule = False
    args = cset_args(volume[2:])
    assert failed(agent, "cset.create", args) == "journal_unwritable"
    full.undo()
    agent.do("cset.create", args)
    assert [each.kind for each in boot_state.load_boot_state(host)] == ["cset"]


def test_settings_that_cannot_be_noted_are_not_made(
    host: FakeHost, agent: Agent, full: pytest.MonkeyPatch
) -> None:
    full.undo()
    volume = agent.backing()
    _, uuid = agent.cset(volume)
    full.setattr(host, "save", _raise)
    wished = {"cache_mode": "writethrough", "sequential_cutoff_bytes": 0}
    args = {"lv": volume, "cset_uuid": uuid, **wished}
    with agent.unchanged():
        assert failed(agent, "bcache.attach", args) == "journal_unwritable"


def _raise(path: str, data: bytes) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def test_bcache_that_root_made_is_noted_before_its_volume_comes_under_management(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.root.add_lv("web12", 64 << 20, signature="bcache")
    host.write("/sys/fs/bcache/register_quiet", "/dev/vg0/web12")
    host.root.guest("web12", f"/dev/{agent.lv('web12')['bcache']['device']}")
    monkeypatch.setattr(host, "save", _raise)
    args = {"lv": "web12", "volume_key": "aaaaaaaa"}
    call = agent.start("volume.tag", args, lv_name="web12", size_bytes=64 << 20)
    assert agent.outcome(call)["error"]["code"] == "journal_unwritable"
    assert agent.lv("web12")["tags"] == []
