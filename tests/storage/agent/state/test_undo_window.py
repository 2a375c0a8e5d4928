"""The undo window holds, however the host's wall clock is set."""

from __future__ import annotations

import json
from typing import Any

import pytest

from storage.agent.operations.boot import boot
from storage.agent.state import policy, undo_window
from tests.contract.client import Agent
from tests.contract.test_life import destroy_args, naming, restore_args
from tests.fake import FakeHost

HOUR = 3600
YEAR = 365 * 24 * HOUR


@pytest.fixture
def retire(host: FakeHost, agent: Agent) -> Any:
    """Retires a new volume and gives back the arguments of its destruction."""

    def retired() -> dict[str, Any]:
        volume = agent.volume()
        agent.do("volume.retire", naming(volume))
        return destroy_args(agent, volume)

    return retired


def demand_a_day_more(host: FakeHost, agent: Agent, args: Any) -> None:
    with agent.unchanged():
        assert agent.refused("volume.destroy", args) == "too_early"
    host.advance(24 * HOUR)
    agent.do("volume.destroy", args)


@pytest.mark.parametrize("seconds", [YEAR, 25 * HOUR])
def test_a_clock_that_is_set_right_after_the_retirement_does_not_end_the_window(
    host: FakeHost, agent: Agent, retire: Any, seconds: int
) -> None:
    host.clock.step(-seconds)
    args = retire()
    host.clock.step(seconds)
    demand_a_day_more(host, agent, args)


def test_a_clock_that_is_set_back_keeps_the_window_open(
    host: FakeHost, agent: Agent, retire: Any
) -> None:
    args = retire()
    host.advance(25 * HOUR)
    host.clock.step(-2 * HOUR)
    with agent.unchanged():
        assert agent.refused("volume.destroy", args) == "too_early"


def test_over_a_restart_the_wall_clock_counts_on(host: FakeHost, agent: Agent, retire: Any) -> None:
    args = retire()
    host.advance(HOUR)
    host.root.reboot()
    demand_a_day_more(host, agent, args)


def test_a_retirement_from_before_the_note_waits_until_root_has_had_it_noted(
    host: FakeHost, agent: Agent, retire: Any
) -> None:
    args = retire()
    host.advance(48 * HOUR)
    host.save(undo_window.RETIREMENTS, b"{}")
    with agent.unchanged():
        assert agent.refused("volume.destroy", args) == "too_early"
    done, failed = boot(host)
    assert failed == [] and any("counts from now" in line for line in done)
    assert not any("counts from now" in line for line in boot(host)[0])
    assert agent.refused("volume.destroy", args) == "too_early"
    host.advance(24 * HOUR)
    agent.do("volume.destroy", args)


def test_a_note_that_cannot_be_understood_ends_no_window(
    host: FakeHost, agent: Agent, retire: Any
) -> None:
    args = retire()
    host.advance(48 * HOUR)
    for text in (b"[]", b"{", json.dumps({"x": {"boot_id": 1, "boottime_s": True}}).encode()):
        host.save(undo_window.RETIREMENTS, text)
        with agent.unchanged():
            assert agent.refused("volume.destroy", args) == "unsupported"


def test_a_volume_that_is_retired_again_has_its_whole_window_again(
    host: FakeHost, agent: Agent
) -> None:
    volume = agent.volume()
    agent.do("volume.retire", naming(volume))
    host.advance(30 * HOUR)
    agent.do("volume.restore", restore_args(agent, volume))
    host.clock.step(-YEAR)
    agent.do("volume.retire", naming(volume))
    host.clock.step(YEAR)
    with agent.unchanged():
        assert agent.refused("volume.destroy", destroy_args(agent, volume)) == "too_early"


def test_a_volume_is_not_retired_where_the_note_cannot_be_kept(
    host: FakeHost, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume, save = agent.volume(), host.save

    def full(path: str, data: bytes) -> None:
        if path == undo_window.RETIREMENTS:
            raise OSError(28, "No space left on device")
        save(path, data)

    monkeypatch.setattr(host, "save", full)
    with agent.unchanged():
        outcome = agent.outcome(agent.start("volume.retire", naming(volume)))
    assert outcome["error"]["code"] == "journal_unwritable"


def test_a_volume_that_was_marked_by_a_wrong_clock_and_stayed_in_service_is_not_switched_off(
    host: FakeHost, agent: Agent
) -> None:
    """Its guest wrote on for hours after the mark, whatever the wall clock says."""
    volume = agent.volume()
    host.fail_next("lvrename")
    agent.outcome(agent.start("volume.retire", naming(volume)))
    with host.changing():
        lv = host.root.lv(volume)
        lv.minor = host.machine.free_minor()
        lv.skipped = False
    host.clock.step(-2 * HOUR)
    host.advance(2 * HOUR)
    with agent.unchanged():
        assert agent.refused("volume.retire", naming(volume)) == "unsupported"


def test_the_quota_counts_what_was_destroyed_before_a_restart_that_set_the_clock_back(
    host: FakeHost, agent: Agent, retire: Any
) -> None:
    rules = {"vgs": ["vg0"], "undo_hours": 0, "destroy_per_hour": 1}
    host.save(policy.PATH, json.dumps(rules).encode())
    agent.do("volume.destroy", retire())
    host.root.reboot()
    host.clock.step(-600)
    args = retire()
    with agent.unchanged():
        assert agent.refused("volume.destroy", args) == "quota"
    host.advance(HOUR)
    agent.do("volume.destroy", args)
