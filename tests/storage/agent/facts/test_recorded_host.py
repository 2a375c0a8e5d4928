"""Facts, samples and previews from what a real host answered: an LVM cache and a bcache volume,
each held by a guest. (LVM's rows were recorded from `pvs` and `lvs` and regrouped as `fullreport`
prints them.)"""

from __future__ import annotations

import json
from typing import Any

import pytest

from storage.agent.calls.call import VerbCall
from storage.agent.calls.refusals import Refusal
from storage.agent.facts.counter_sample import sample
from storage.agent.facts.hello import hello
from storage.agent.facts.inventory import inventory
from storage.agent.operations.assess import preview
from storage.agent.operations.ops import accept, get
from storage.agent.state.policy import Policy
from storage.inventory.facts import decode

from .replay import ReplayHost

VG = "m2HgF4-js5t-X0qT-eAMc-QICm-fqK1-0GIeGU"
PLAIN = "xLPHPf-Xecn-cd0v-RUIG-ZcwG-64CW-v9vzIc"
CSET = "1f92c373-e8d9-4e05-8f27-be6825d7e039"
OP = "2f1b9b1e-1111-4111-8111-111111111111"
POOL = {
    "vg": "vg0",
    "name": "c-abcdefgh",
    "size_bytes": 256 << 20,
    "pvs": ("md0",),
    "chunk_kib": 64,
    "volume_key": "plainaaa",
}


def host() -> ReplayHost:
    return ReplayHost("host-cached").allow("vg0")


def call(verb: str, args: dict[str, Any], **expect: Any) -> VerbCall:
    return VerbCall(verb, args, {"vg_uuid": VG, **expect})


def lvs() -> dict[str, dict[str, Any]]:
    return {lv["name"]: lv for lv in inventory(host(), Policy(("vg0",)))["lvs"]}


def code_of(wanted: VerbCall, on: ReplayHost | None = None) -> str:
    with pytest.raises(Refusal) as refused:
        accept(on or host(), OP, wanted)
    assert refused.value.correction
    return refused.value.code


def test_the_inventory_is_what_the_panel_decodes() -> None:
    found = inventory(host(), Policy(("vg0",)))
    assert found["consistent"]
    assert not found["stale"]
    assert len(decode(json.loads(json.dumps(found))).lvs) == len(found["lvs"])


def test_a_pv_on_a_mirror_of_ssds_is_fast_and_redundant() -> None:
    pvs = {pv["name"]: pv for pv in inventory(host(), Policy())["pvs"]}
    assert (pvs["md0"]["tier"], pvs["md0"]["redundant"], pvs["md0"]["healthy"]) == (
        "fast",
        True,
        True,
    )
    assert (pvs["sdc"]["tier"], pvs["sdc"]["redundant"]) == ("slow", False)


def test_the_operators_word_on_a_pvs_tier_wins() -> None:
    pvs = {
        pv["name"]: pv
        for pv in inventory(host(), Policy(fast_pvs=("sdc",), slow_pvs=("md0",)))["pvs"]
    }
    assert (pvs["md0"]["tier"], pvs["sdc"]["tier"]) == ("slow", "fast")


def test_a_cached_volume_tells_its_pool_and_where_both_lie() -> None:
    found = lvs()["v-plainaaa"]
    assert found["segments"] == [
        {"type": "cache", "start_bytes": 0, "size_bytes": 1 << 30, "pvs": ["sdc"]}
    ]
    cache = found["cache"]
    assert (cache["pool"], cache["mode"], cache["pvs"]) == ("c-plainaaa", "writethrough", ["md0"])
    assert (cache["size_bytes"], cache["chunk_bytes"]) == (512 << 20, 65536)


def test_the_users_of_a_volume_are_its_guests_and_never_its_own_bcache_device() -> None:
    found = lvs()
    names = [(user["kind"], user["name"], user["disk"]) for user in found["v-plainaaa"]["users"]]
    assert ("qemu", "web12", "vda") in names
    bcache = [(user["kind"], user["name"]) for user in found["v-bcacheaa"]["users"]]
    assert ("qemu", "web13") in bcache
    assert "holder" not in {kind for kind, _ in bcache}


def test_a_bcache_volume_tells_its_cache_set() -> None:
    bcache = lvs()["v-bcacheaa"]["bcache"]
    assert (bcache["cset_uuid"], bcache["state"]) == (CSET, "clean")
    assert bcache["size_bytes"] == 1 << 30
    (cset,) = inventory(host(), Policy())["csets"]
    assert (cset["uuid"], cset["lv_uuid"]) == (CSET, lvs()["s-bcacheaa"]["uuid"])


def test_a_sample_has_every_public_volume_and_no_report_of_lvm() -> None:
    asked = host()
    data, warnings = sample(asked)
    assert warnings == []
    assert {argv[0] for argv in asked.ran} == {"dmsetup"}
    found = {volume["name"]: volume for volume in data["volumes"]}
    assert set(found) == {"vg0-v--plainaaa", "vg0-v--bcacheaa", "vg0-s--bcacheaa"}
    cached = found["vg0-v--plainaaa"]
    assert len(cached["disk"]) == len(cached["cache"]["origin"]) == 17
    assert cached["cache"]["read_hits"] > 0
    assert sum(cached["latency"]["counts"]) > 0
    backed = found["vg0-v--bcacheaa"]
    assert backed["bcache"]["disk"] != backed["disk"]
    assert backed["latency"] is None
    assert {disk["name"] for disk in data["disks"]} >= {"sda", "sdb", "sdc", "sdd"}


def test_hello_tells_versions_modules_and_policy() -> None:
    found = hello(host())
    assert (found["lvm2"], found["systemd"], found["util_linux"]) == ("2.03.16", "252", "2.38.1")
    assert found["bcache_tools"] == "1.0.8-4"
    assert found["modules"] == {"dm_cache": True, "bcache": True}
    assert found["policy"]["vgs"] == ["vg0"]
    for problem in found["problems"]:
        assert problem["message"] and problem["correction"]


def test_a_preview_defers_what_an_earlier_step_brings_and_says_what_it_cannot() -> None:
    on = host()
    attach = {"vg": "vg0", "lv": "foreign", "pool": "c-abcdefgh", "mode": "writeback"}
    steps = preview(on, [call("pool.create", POOL), call("cache.attach", attach)])
    assert steps[0]["error"] is None
    assert steps[0]["commands"][0]["argv"][0] == "lvcreate"
    assert steps[1]["error"]["code"] == "not_found"
    assert on.ops == {}
    assert on.started == []


def test_a_preview_already_refuses_writeback_on_a_single_disk() -> None:
    remove = {"vg": "vg0", "lv": "v-plainaaa", "pool": "c-plainaaa", "dirty_limit_bytes": 0}
    attach = {"vg": "vg0", "lv": "v-plainaaa", "pool": "c-abcdefgh", "mode": "writeback"}
    for pv, code in (("sdd", "not_redundant"), ("md0", None)):
        steps = preview(
            host(),
            [
                call("cache.detach", remove, lv_uuid=PLAIN),
                call("pool.create", {**POOL, "pvs": (pv,)}),
                call("cache.attach", attach, lv_uuid=PLAIN),
            ],
        )
        error = steps[2]["error"]
        assert (error and error["code"]) == code
        assert "not_found" in {deferred["code"] for deferred in steps[2]["deferred"]}


def test_an_accepted_operation_is_started_once_and_kept() -> None:
    on = host()
    wanted = call("pool.create", POOL)
    assert accept(on, OP, wanted) == {"op": OP} == accept(on, OP, wanted)
    assert on.started == [OP]
    assert get(on, OP, 0)["state"] == "running"
    other = call("pool.create", {**POOL, "chunk_kib": 128})
    assert code_of(other, on) == "op_conflict"


def test_a_wish_that_is_already_so_is_done_without_a_command() -> None:
    on = host()
    wanted = {"vg": "vg0", "lv": "v-plainaaa", "pool": "c-plainaaa", "mode": "writethrough"}
    accept(on, OP, call("cache.attach", wanted, lv_uuid=PLAIN))
    assert (on.started, get(on, OP, 0)["state"], get(on, OP, 0)["commands"]) == ([], "done", [])


def test_an_operation_of_an_earlier_boot_was_interrupted() -> None:
    on = host()
    accept(on, OP, call("pool.create", POOL))
    on.recorded["read"]["/proc/sys/kernel/random/boot_id"] = "another"
    found = get(on, OP, 0)
    assert found["state"] == "interrupted"
    assert found["error"]["correction"]


def test_an_operation_whose_unit_is_gone_was_interrupted_after_a_grace() -> None:
    on = host()
    accept(on, OP, call("pool.create", POOL))
    on.started.clear()
    assert get(on, OP, 0)["state"] == "running"
    on.sleep(60)
    assert get(on, OP, 0)["state"] == "interrupted"


VOLUME = {"vg": "vg0", "lv": "v-plainaaa"}


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("no_space", call("pool.create", {**POOL, "size_bytes": 3 << 30})),
        ("bad_request", call("pool.create", {**POOL, "size_bytes": 1 << 20})),
        ("unsupported", call("pool.create", {**POOL, "size_bytes": 1 << 40})),
        ("not_found", call("pool.create", {**POOL, "pvs": ("sdz",)})),
        ("already_exists", call("pool.create", {**POOL, "name": "c-plainaaa"})),
        ("stale", VerbCall("pool.create", POOL, {"vg_uuid": PLAIN})),
        ("vg_not_allowed", call("pool.create", {**POOL, "vg": "other"})),
        ("in_use", call("pool.remove", {"vg": "vg0", "pool": "c-plainaaa"}, lv_uuid=VG)),
        ("stale", call("cache.set", {**VOLUME, "mode": "writeback"}, lv_uuid=VG)),
        ("not_found", call("cache.set", {**VOLUME, "lv": "nope", "mode": "writeback"})),
        ("in_use", call("bcache.format", VOLUME, lv_uuid=PLAIN)),
        ("unsupported", call("bcache.detach", {**VOLUME, "cset_uuid": CSET}, lv_uuid=PLAIN)),
        ("in_use", call("bcache.stop", {"vg": "vg0", "lv": "v-bcacheaa"})),
        (
            # Recorded before what is made was marked.
            "not_ours",
            call("cset.remove", {"vg": "vg0", "name": "s-bcacheaa", "cset_uuid": CSET}),
        ),
    ],
)
def test_each_refusal_has_its_code_and_a_correction(code: str, wanted: VerbCall) -> None:
    assert code_of(wanted) == code


def test_a_host_starts_observe_only() -> None:
    on = host()
    del on.recorded["read"]["/etc/tiercel/agent.json"]
    assert code_of(call("pool.create", POOL), on) == "observe_only"


def test_a_broken_policy_file_allows_nothing() -> None:
    on = host()
    on.recorded["read"]["/etc/tiercel/agent.json"] = '{"vgs": "vg0"'
    assert code_of(call("pool.create", POOL), on) == "observe_only"


def test_a_volume_without_our_tag_is_not_ours() -> None:
    on = host()
    for argv, found in on.recorded["run"].items():
        if '"fullreport"' in argv:
            found["stdout"] = found["stdout"].replace("tiercel,tiercel.volume=plainaaa", "")
    wanted = call("cache.set", {**VOLUME, "mode": "writeback"}, lv_uuid=PLAIN)
    assert code_of(wanted, on) == "not_ours"


def test_a_missing_tool_is_named_with_its_package() -> None:
    on = host()
    on.recorded["has_tool"]["cache_check"] = False
    assert code_of(call("pool.create", POOL), on) == "missing_tool"


def test_a_locked_volume_group_makes_a_change_busy_and_facts_stale() -> None:
    on = host()
    for argv in list(on.recorded["run"]):
        words = json.loads(argv)
        if words[:2] == ["lvm", "fullreport"]:
            at = words.index("--config") + 1
            without_lock = words[at].removesuffix(" global/wait_for_locks=0")
            unlocked = [*words[:at], without_lock, "--nolocking"]
            unlocked += words[at + 1 :]
            on.recorded["run"][json.dumps(unlocked)] = on.recorded["run"][argv]
            error = "  /run/lock/lvm/V_vg0: flock failed: Resource temporarily unavailable\n"
            on.recorded["run"][argv] = {"rc": 5, "stdout": "", "stderr": error}
    assert code_of(call("pool.create", POOL), on) == "busy"
    assert inventory(on, Policy())["stale"]


def test_a_pv_that_is_missing_stops_changes() -> None:
    on = host()
    for argv, found in on.recorded["run"].items():
        if '"fullreport"' in argv:
            found["stdout"] = found["stdout"].replace(
                '"vg_missing_pv_count":"0"', '"vg_missing_pv_count":"1"'
            )
    assert code_of(call("pool.create", POOL), on) == "degraded"
