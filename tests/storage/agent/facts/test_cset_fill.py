"""How full a bcache cache set is, asked seldom."""

from __future__ import annotations

import pytest

from storage.agent.facts import cset_fill
from storage.agent.facts.counter_sample import sample
from tests.contract.client import MIB, Agent
from tests.fake import FakeHost

ASKED = "/cache0/priority_stats"


@pytest.fixture
def cset(agent: Agent) -> str:
    """The cache set of a volume with a bcache cache."""
    volume = agent.backing()
    _, uuid = agent.cset(volume)
    wished = {"cache_mode": "writethrough", "sequential_cutoff_bytes": 0}
    agent.do("bcache.attach", {"lv": volume, "cset_uuid": uuid, **wished})
    return uuid


@pytest.fixture
def asked(host: FakeHost, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every path that is read from now on."""
    paths: list[str] = []
    read = host.read

    def noted(path: str) -> bytes | None:
        paths.append(path)
        return read(path)

    monkeypatch.setattr(host, "read", noted)
    return paths


def fill(host: FakeHost, uuid: str, used_bytes: int) -> None:
    with host.changing() as machine:
        cset = machine.cset(uuid)
        assert cset is not None
        cset.used_bytes = used_bytes


def unused(agent: Agent) -> int | None:
    (found,) = (each["bcache"] for each in agent.data("sample")["volumes"] if each["bcache"])
    percent: int | None = found["unused_percent"]
    return percent


def test_a_full_writethrough_set_has_nothing_unused_though_all_of_it_is_available(
    host: FakeHost, agent: Agent, cset: str
) -> None:
    fill(host, cset, 512 * MIB)
    (found,) = (each["bcache"] for each in agent.data("sample")["volumes"] if each["bcache"])
    assert (found["unused_percent"], found["available_percent"]) == (0, 99)


def test_the_kernel_is_asked_once_a_minute_at_most(
    host: FakeHost, agent: Agent, cset: str, asked: list[str]
) -> None:
    assert unused(agent) == 99
    fill(host, cset, 256 * MIB)
    host.advance(cset_fill.SHORTEST_SECONDS - 1)
    assert unused(agent) == 99
    assert sum(path.endswith(ASKED) for path in asked) == 1
    host.advance(1)
    assert unused(agent) == 49


def test_large_sets_are_asked_every_quarter_of_an_hour_at_most() -> None:
    assert cset_fill.pause_seconds(1024) == 60
    assert cset_fill.pause_seconds(90_000) == 300
    assert cset_fill.pause_seconds(10_000_000) == 900


def test_the_inventory_repeats_the_last_answer_and_never_asks(
    host: FakeHost, agent: Agent, cset: str, asked: list[str]
) -> None:
    def reported() -> int | None:
        (found,) = agent.inventory()["csets"]
        percent: int | None = found["unused_percent"]
        return percent

    assert reported() is None
    fill(host, cset, 256 * MIB)
    agent.data("sample")
    asked.clear()
    assert reported() == 49
    host.advance(cset_fill.OLD_SECONDS)
    assert reported() is None, "an old answer is none"
    assert not any(path.endswith(ASKED) for path in asked)


@pytest.mark.parametrize("text", [b"", b"[]", b'{"x": 1}', b"\xff", b'{"x": [1, "many"]}'])
def test_a_file_that_says_nothing_is_as_good_as_none(
    host: FakeHost, agent: Agent, cset: str, text: bytes
) -> None:
    host.save(cset_fill.PATH, text)
    assert unused(agent) == 99


def test_a_reading_from_before_the_last_start_counts_for_nothing(
    host: FakeHost, agent: Agent, cset: str
) -> None:
    later_ns = host.boottime_ns() + 10**12
    host.save(cset_fill.PATH, f'{{"{cset}": [{later_ns}, 5]}}'.encode())
    assert unused(agent) == 99


def test_a_set_that_is_gone_is_forgotten(host: FakeHost, agent: Agent, cset: str) -> None:
    host.save(cset_fill.PATH, b'{"6a7c1e4e-1b57-4c0e-8a53-90e54ab1c001": [1, 5]}')
    agent.data("sample")
    assert (host.read(cset_fill.PATH) or b"").startswith(f'{{"{cset}"'.encode())


def test_where_nothing_can_be_kept_nothing_is_asked_and_the_sample_says_so(
    host: FakeHost, cset: str, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: str, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(host, "save", full)
    data, warnings = sample(host)
    assert [each["bcache"]["unused_percent"] for each in data["volumes"] if each["bcache"]] == [
        None
    ]
    (warning,) = warnings
    assert "No space left on device" in warning["message"]
    assert not any(path.endswith(ASKED) for path in asked)
