"""bench.run touches what it made itself, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.agent.benchmark import cleanup
from tests.contract.benchmark_runs import run, run_args, scratch
from tests.contract.client import MIB, Agent
from tests.contract.fake_world import FakeWorld
from tests.fake import FakeHost

GIB = 1 << 30
KEY, OTHER = "aaaaaaaa", "bbbbbbbb"
CHANGING = frozenset(
    ("lvcreate", "lvconvert", "lvchange", "lvremove", "lvrename", "fio", "wipefs", "make-bcache")
)


def refusal(agent: Agent, args: dict[str, Any]) -> dict[str, Any]:
    reply = agent.ask("bench.run", {"vg": "vg0", **args}, agent.expecting(None))
    assert not reply["ok"]
    return dict(reply["error"])


@pytest.fixture
def args(agent: Agent) -> dict[str, Any]:
    agent.world.allow(["vg0"], benchmark_bytes=GIB)
    return run_args(agent.world, "lvmcache", key=KEY)


def test_root_must_have_allowed_it(agent: Agent) -> None:
    error = refusal(agent, run_args(agent.world, "hdd"))
    assert error["code"] == "vg_not_allowed"
    assert error["correction"].endswith("/usr/lib/tiercel/agent.pyz allow-benchmarks 1")


def test_more_than_root_allows_is_refused(agent: Agent, args: dict[str, Any]) -> None:
    error = refusal(agent, args | {"data_bytes": 3 * GIB})
    assert error["code"] == "vg_not_allowed" and "allow-benchmarks 4" in error["correction"]


def test_one_at_work_goes_on_where_root_denies_it(host: FakeHost, agent: Agent) -> None:
    agent.world.allow(["vg0"], benchmark_bytes=GIB)
    agent.data("inventory")
    pause = host.pause_next("blockdev")
    op = agent.start("bench.run", run_args(agent.world, "hdd", key=KEY))
    assert pause.reached.wait(30)
    agent.world.allow(["vg0"])
    pause.resume()
    outcome = agent.outcome(op)
    assert outcome["state"] == "done", outcome["error"]
    assert refusal(agent, run_args(agent.world, "hdd", key=OTHER))["code"] == "vg_not_allowed"


def test_what_is_left_under_a_key_opens_nothing(host: FakeHost, agent: Agent) -> None:
    tags = ("tiercel", f"tiercel.bench={KEY}")
    host.root.add_lv(f"b-{KEY}", 64 * MIB, tags=tags)
    args = run_args(agent.world, "hdd", key=KEY)
    outcome = agent.outcome(agent.start("bench.run", args))
    assert (outcome["state"], outcome["error"]["code"]) == ("failed", "vg_not_allowed")
    assert scratch(agent) == set()
    assert [argv for argv in host.executed if argv[0] in ("lvcreate", "fio")] == []


def test_without_fio_the_line_that_installs_it_is_given(
    host: FakeHost, agent: Agent, args: dict[str, Any]
) -> None:
    with agent.world.without("fio"):
        error = refusal(agent, args)
        assert agent.data("hello")["benchmarks"] == {"fio": None, "quota_bytes": GIB}
    assert error["code"] == "unsupported" and "apt install fio" in error["correction"]
    assert agent.data("hello")["benchmarks"]["fio"] == "3.33"


@pytest.mark.parametrize(
    "wrong",
    [
        {"target": "hdd"},
        {"cache_bytes": 0},
        {"mode": "writearound"},
        {"sequential_cutoff_kib": 4096},
        {"state": "warmed"},
        {"warm_seconds": 60},
        {"profile": "own"},
        {"options": [["rw", "read"]]},
        {"slow_pvs": ["md0"]},
        {"chunk_kib": 96},
        {"cache_bytes": 16 * MIB + 32768},
        {"target": "bcache", "chunk_kib": 48},
        {"target": "bcache", "chunk_kib": 512},
    ],
    ids=str,
)
def test_arguments_that_do_not_fit_each_other_are_refused(
    agent: Agent, args: dict[str, Any], wrong: dict[str, Any]
) -> None:
    assert refusal(agent, args | wrong)["code"] == "bad_request"


@pytest.mark.parametrize(
    "wrong",
    [
        {"key": "../../x"},
        {"key": "vm-101-disk-0"},
        {"target": "vm-101-disk-0"},
        {"profile": "exec"},
        {"lv": "vm-101-disk-0"},
        {"profile": "own", "options": [["rw", "read"], ["filename", "/dev/vg0/web12"]]},
        {"profile": "own", "options": [["rw", "read"], ["exec_prerun", "reboot"]]},
        {"profile": "own", "options": [["rw", "read:/dev/sda"]]},
    ],
    ids=str,
)
def test_no_volume_file_or_program_can_be_named(
    agent: Agent, args: dict[str, Any], wrong: dict[str, Any]
) -> None:
    assert refusal(agent, args | wrong)["code"] == "bad_request"


@pytest.mark.parametrize("name", [f"b-{KEY}", f"b-{KEY}-cache"])
@pytest.mark.parametrize(
    "tags", [(), ("tiercel",), ("tiercel", f"tiercel.bench={OTHER}"), (f"tiercel.bench={KEY}",)]
)
def test_a_volume_that_has_the_name_already_is_left_alone(
    host: FakeHost, agent: Agent, args: dict[str, Any], name: str, tags: tuple[str, ...]
) -> None:
    host.root.add_lv(name, 64 * MIB, tags=tags)
    with agent.unchanged():
        assert refusal(agent, args)["code"] == "already_exists"
        cleanup.clean_up(host)


def test_disks_keep_some_room(agent: Agent, host: FakeHost, args: dict[str, Any]) -> None:
    agent.world.allow(["vg0"], benchmark_bytes=100 * GIB)
    whole = 8 * GIB - 16 * MIB
    assert refusal(agent, args | {"data_bytes": whole})["code"] == "no_space"


def test_results_that_no_panel_takes_keep_further_runs_away(
    host: FakeHost, agent: Agent, args: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.agent.benchmark.kept_results.KEPT_LIMIT", 1)
    run(agent, run_args(agent.world, "hdd"))
    error = refusal(agent, args)
    assert error["code"] == "busy" and "/var/lib/tiercel/benchmarks" in error["correction"]


@pytest.mark.parametrize("target", ["hdd", "ssd", "lvmcache", "bcache"])
def test_the_preview_shows_every_program(
    host: FakeHost, agent: Agent, args: dict[str, Any], target: str
) -> None:
    args = run_args(agent.world, target)
    (step,) = agent.preview(("bench.run", {"vg": "vg0", **args}, agent.expecting(None)))
    assert step["error"] is None and agent.names() == set()
    host.executed.clear()
    run(agent, args)
    shown = [tuple(each["argv"]) for each in step["commands"]]
    ran = [argv for argv in host.executed if argv[0] in CHANGING]
    bcache = "<bcache of the run>"
    wanted = [
        tuple(word.replace(bcache, "/dev/bcache0") for word in argv)
        for argv in shown
        if argv[0] in CHANGING
    ]
    assert ran[: len(wanted)] == wanted, "the rest removes it again"
    assert {argv[0] for argv in ran[len(wanted) :]} <= {"wipefs", "lvremove"}


NAMES = st.sampled_from(
    [
        "web12", "vm-101-disk-0", f"b-{KEY}", f"b-{KEY}-cache", f"b-{OTHER}", f"b-{OTHER}-cache",
        f"b-{OTHER}-x", f"v-{KEY}", "b-cache", f"b-{KEY}_", "tiercel.bench",
    ]
)  # fmt: skip
TAGS = st.lists(
    st.sampled_from(
        [
            "tiercel", f"tiercel.bench={KEY}", f"tiercel.bench={OTHER}", "tiercel.bench=",
            f"tiercel.volume={KEY}", "tiercel.made=pool",
        ]
    ),
    max_size=3,
    unique=True,
)  # fmt: skip


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.dictionaries(NAMES, TAGS, max_size=6), st.sampled_from(["hdd", "lvmcache", "bcache"]))
def test_whatever_else_is_on_the_host_only_scratch_volumes_are_touched(
    volumes: dict[str, list[str]], target: str
) -> None:
    host = FakeHost()
    agent = Agent(FakeWorld(host))
    agent.world.allow(["vg0"], benchmark_bytes=GIB)
    made = {}
    for name, tags in volumes.items():
        lv = host.root.add_lv(name, 8 * MIB, tags=tags)
        made[name] = (lv.uuid, sorted(tags))
    mine = {
        name
        for name, tags in volumes.items()
        for key in (KEY, OTHER)
        if name in (f"b-{key}", f"b-{key}-cache")
        and "tiercel" in tags
        and [tag for tag in tags if tag.startswith("tiercel.bench=")] == [f"tiercel.bench={key}"]
    }
    args = run_args(agent.world, target, key=KEY)
    checked, expect = agent.call("bench.run", args)
    reply = agent.ask("bench.run", checked, expect)
    host.wait_for_ops()
    left = {lv.name: (lv.uuid, sorted(lv.tags)) for lv in host.machine.lvs()}
    for name in volumes.keys() - mine:
        assert left[name] == made[name], "it is nobody's scratch volume"
    strange = {f"b-{KEY}", f"b-{KEY}-cache"} & (volumes.keys() - mine)
    assert reply["ok"] == (not strange)
    allowed = {f"b-{KEY}", f"b-{KEY}-cache", *mine}
    for argv in host.executed:
        if argv[0] in CHANGING:
            named = {word.rsplit("/", 1)[-1] for word in argv if "vg0/" in word}
            assert named <= allowed, argv
    assert scratch(agent) <= volumes.keys() - mine
