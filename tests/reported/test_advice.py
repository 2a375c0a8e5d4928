"""Advice is a plan: in random states of arrays, groups, caches and guests, nothing that agent or
panel tells root to type destroys data that exists, or is what LVM or md refuses in that state."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.planner.technologies.lvmcache_loss import loss_of
from tests.reported.host import Seen
from tests.reported.test_lvm_states import GONE, cached, raid, runbook

PROGRAMS = "mdadm|lvconvert|lvchange|lvremove|vgreduce|vgchange|wipefs|blkdiscard|pvcreate|dd|mkfs"
COMMAND = re.compile(rf"(?:\b(?:{PROGRAMS})\b|echo \w+ >) [^;:,]*?(?=[;:,]|\. |\.?$| or |$)", re.M)
NEVER = re.compile(r"[^.]*\b(?:Never|never|Do not|Add no|Put no)\b[^.]*(?:\.|$)")
DESTROYS = ("lvremove", "wipefs", "blkdiscard", "pvcreate", "dd", "mkfs", "--zero-superblock")
MAY_LOSE = {"raid1": 3, "raid5": 1, "raid6": 2, "raid0": 0}


@dataclass(frozen=True)
class State:
    """`places` of the array md0: for each whether its member is there. `legs` of the cache pool and
    of the volume below it: likewise."""

    level: str
    places: tuple[bool, ...]
    array_state: str
    is_guests: bool
    pool_kind: str
    pool_legs: tuple[bool, ...]
    has_origin: bool
    mode: str
    dirty: int
    is_silent: bool
    bcache_state: str
    has_set: bool
    has_device: bool
    is_double: bool

    @property
    def array_is_lost(self) -> bool:
        return self.places.count(False) > MAY_LOSE[self.level]

    @property
    def cache_is_lost(self) -> bool:
        if self.pool_kind == "linear":
            return not self.pool_legs[0]
        return not any(self.pool_legs)

    @property
    def misses_a_disk(self) -> bool:
        legs = self.pool_legs[:1] if self.pool_kind == "linear" else self.pool_legs
        return not all(legs) or not self.has_origin


states = st.builds(
    State,
    level=st.sampled_from(sorted(MAY_LOSE)),
    places=st.lists(st.booleans(), min_size=4, max_size=4).map(tuple),
    array_state=st.sampled_from(["clean", "active", "readonly", "read-auto", "broken", "inactive"]),
    is_guests=st.booleans(),
    pool_kind=st.sampled_from(["linear", "raid1"]),
    pool_legs=st.tuples(st.booleans(), st.booleans()),
    has_origin=st.booleans(),
    mode=st.sampled_from(["writeback", "writethrough"]),
    dirty=st.sampled_from([0, 7]),
    is_silent=st.booleans(),
    bcache_state=st.sampled_from(["clean", "dirty", "inconsistent", "no cache"]),
    has_set=st.booleans(),
    has_device=st.booleans(),
    is_double=st.booleans(),
)


def described(state: State) -> dict[str, Any]:
    disks = ("/dev/sdc", "/dev/sdd")
    legs = [disk if state.pool_legs[at] else GONE for at, disk in enumerate(disks)]
    parts: list[dict[str, Any]] = []
    for part in ("cdata", "cmeta"):
        name, role = f"fast_cpool_{part}", f"private,cache,pool,{'meta' * (part == 'cmeta')}data"
        if state.pool_kind == "raid1":
            parts += raid(name, legs, role=role)
        else:
            parts.append({"vg": "tank", "name": name, "role": role, "devices": [f"{legs[0]}(0)"],
                          "health": "partial" * (legs[0] == GONE)})  # fmt: skip
    if not state.has_origin:
        parts.append(
            {
                "vg": "tank",
                "name": "web_corig",
                "devices": [f"{GONE}(0)"],
                "role": "private,cache,origin,cacheorigin",
                "health": "partial",
            }
        )
    full = cached(*parts, mode=state.mode, dirty=state.dirty)
    if state.is_silent:
        full["dm"]["cache"] = "tank-web: 0 1 cache Fail"
    full["lvm"]["pvs"][0]["duplicate"] = state.is_double
    full["disks"] += [
        {"name": name, "dev": f"8:{at * 16}", "partitions": [f"{name}1"]}
        for at, name in enumerate(("sdf", "sdg", "sdh", "sdi", "sdj", "sdk"), 5)
    ]
    on = ("dm-0",) if state.is_guests else ("sdf1", "sdg1", "sdh1", "sdi1")
    members = {
        name: ["in_sync", str(at)]
        for at, name in enumerate(on)
        if state.places[at] or state.is_guests
    }
    full["arrays"] = [
        {"name": "md0", "level": state.level, "raid_disks": "4", "array_state": state.array_state,
         "members": members,
         "degraded": None if state.level == "raid0" else str(4 - len(members))},
    ]  # fmt: skip
    if state.is_guests:
        full["lvm"]["lvs"][0]["tags"] = "tiercel,tiercel.volume=abcdefgh"
    backing = {"on": "sdj1", "cache_mode": "[writeback] none", "state": state.bcache_state}
    uuid = "0f1e2d3c-0000-4000-8000-00000000beef"
    backing |= {"device": "bcache0"} if state.has_device else {}
    backing |= {"set": uuid} if state.has_set else {}
    sets = [{"uuid": uuid, "on": "sdk1", "backings": ["sdj1"]}] if state.has_set else []
    full["bcache"] = {"backings": [backing], "sets": sets}
    return full


def advice(seen: Seen) -> list[str]:
    """Every command that root is advised to type, wherever."""
    text = NEVER.sub("", f"{seen.text}\n{runbook(seen, 'web')}")
    return [match.group().strip() for match in COMMAND.finditer(text)]


@settings(max_examples=3 * settings().max_examples, deadline=None)
@given(states)
def test_no_command_destroys_what_exists_or_is_refused(state: State) -> None:
    seen = Seen(**described(state))
    for command in advice(seen):
        assert not any(word in command.split() for word in DESTROYS), command
        if "vgreduce" in command:
            assert "--force" not in command and loss_of(seen.host, seen.lv("web")) is not None
        if "--add " in command:
            assert not state.is_guests, "never a disk of the host into a guest's array"
            assert not state.array_is_lost, "a failed array is not overwritten"
            assert state.array_state not in ("readonly", "inactive", "broken")
            assert not all(state.places)
        if "--assemble" in command or "--run" in command:
            assert not state.is_guests
        if "--uncache" in command:
            assert state.cache_is_lost, "a part of the cache is there"
            assert state.has_origin, "the volume itself is lost: the cache may be all there is"
            is_dirty = state.mode == "writeback" or state.dirty or state.is_silent
            assert ("--force" in command) <= bool(is_dirty)
        if command.startswith(("lvchange", "vgchange")):
            assert not state.misses_a_disk and not state.is_double, "LVM refuses it"
        if command.startswith("lvconvert --repair"):
            assert not state.is_double and "--force" not in command
        if re.match(r"echo 1 >.*/running", command):
            assert state.bcache_state == "clean" and not state.has_device
