"""The panel's side of the protocol, for tests: a request, an operation to its end, a refusal."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from storage.agent.verbs.registry import VERBS
from storage.naming import new_key
from tests.contract.world import World

MIB = 1 << 20
VOLUME_BYTES = 64 * MIB
POOL_BYTES = 64 * MIB
CSET_BYTES = 512 * MIB
WIDE_VOLUME_BYTES, SMALL_POOL_BYTES, SMALL_CSET_BYTES = 384 * MIB, 16 * MIB, 96 * MIB
"""Reads all over such a volume find hardly anything in such a cache."""
VOLATILE = (
    "used_bytes",
    "dirty_bytes",
    "available_percent",
    "unused_percent",
    "open_count",
    "users",
)
SETTLES = {"active": "clean", "active-idle": "clean", "write-pending": "clean", "dirty": "clean"}
"""States that move by themselves: an array's 200 ms after the last write, a bcache's some seconds
after its last block is written back."""


class Agent:
    """Talks to the agent of one world. `op` ids are fresh unless given."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._vg_uuid = ""
        self._uuids: dict[str, str] = {}

    def ask(self, verb: str, args: object = None, expect: object = None, **more: Any) -> Any:
        """The whole reply to one request; `more` replaces or adds fields of the request."""
        request = {"v": 1, "id": str(uuid.uuid4()), "verb": verb, "args": args or {}}
        request |= {"expect": expect or {}} | more
        return json.loads(self.world.answer(json.dumps(request).encode() + b"\n"))

    def data(self, verb: str, args: object = None) -> Any:
        reply = self.ask(verb, args)
        assert reply["ok"], reply["error"]
        return reply["data"]

    def inventory(self) -> Any:
        return self.data("inventory")

    def vg(self) -> Any:
        return next(vg for vg in self.inventory()["vgs"] if vg["name"] == "vg0")

    def lv(self, name: str) -> Any:
        return next(lv for lv in self.inventory()["lvs"] if lv["name"] == name)

    def names(self) -> set[str]:
        return {lv["name"] for lv in self.inventory()["lvs"]}

    def expecting(self, lv: str | None) -> dict[str, Any]:
        """`expect` for an LV of vg0. A uuid is looked up once: a name is not used again here."""
        if not self._vg_uuid or (lv is not None and lv not in self._uuids):
            facts = self.inventory()
            # A guest may have called its own group by any name.
            vgs = sorted(facts["vgs"], key=lambda vg: (not vg["allowed"], vg["name"] != "vg0"))
            self._vg_uuid = vgs[0]["uuid"]
            self._uuids |= {each["name"]: each["uuid"] for each in facts["lvs"]}
        expect = {"vg_uuid": self._vg_uuid}
        return expect if lv is None else expect | {"lv_uuid": self._uuids[lv]}

    def call(self, verb: str, args: Mapping[str, Any], **expect: Any) -> tuple[dict[str, Any], Any]:
        """Arguments and `expect` of a mutating verb on vg0, as a plan would give them."""
        schema = VERBS[verb].arguments
        subject = args.get("lv")
        if "lv_uuid" in schema.expects and "lv" not in schema.required:
            subject = args.get("pool", args.get("name"))
        return {"vg": "vg0", **args}, self.expecting(subject) | expect

    def start(self, verb: str, args: Mapping[str, Any], **expect: Any) -> str:
        checked, expected = self.call(verb, args, **expect)
        reply = self.ask(verb, checked, expected)
        assert reply["ok"], (verb, reply["error"])
        return str(reply["data"]["op"])

    def do(self, verb: str, args: Mapping[str, Any], **expect: Any) -> Any:
        """Run it to its end, which must be good; what `op.get` says of it."""
        outcome = self.outcome(self.start(verb, args, **expect))
        assert outcome["state"] == "done", outcome
        assert outcome["error"] is None
        return outcome

    def outcome(self, op: str, timeout_seconds: float = 120.0) -> Any:
        end = time.monotonic() + timeout_seconds
        while time.monotonic() < end:
            found = self.data("op.get", {"op": op, "after": 0})
            if found["state"] != "running":
                return found
            time.sleep(self.world.poll_seconds)
        raise AssertionError(f"operation {op} does not end: {found}")

    def refused(self, verb: str, args: Mapping[str, Any], **expect: Any) -> Any:
        """The code by which a request is refused. Ask inside `unchanged`."""
        checked, expected = self.call(verb, args, **expect)
        reply = self.ask(verb, checked, expected)
        assert not reply["ok"], reply
        assert reply["error"]["message"] and reply["error"]["correction"]
        return reply["error"]["code"]

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """The host is afterwards as it was."""
        before = self.state()
        yield
        assert self.state() == before

    def state(self) -> Any:
        """An inventory without what moves by itself; with every VG's sequence number."""

        def still(value: Any) -> Any:
            if isinstance(value, dict):
                kept = {key: still(each) for key, each in value.items() if key not in VOLATILE}
                if "state" in kept:
                    kept["state"] = SETTLES.get(kept["state"], kept["state"])
                return kept
            return [still(each) for each in value] if isinstance(value, list) else value

        return still(self.inventory())

    def preview(self, *steps: tuple[str, Mapping[str, Any], Mapping[str, Any]]) -> Any:
        """The dry run of (verb, args, expect)s."""
        document = [
            {"verb": verb, "args": dict(args), "expect": dict(expect)}
            for verb, args, expect in steps
        ]
        request = {"v": 1, "id": str(uuid.uuid4()), "dry_run": document}
        reply = json.loads(self.world.answer(json.dumps(request).encode() + b"\n"))
        assert reply["ok"], reply["error"]
        return reply["data"]["steps"]

    # What tests begin with.

    def volume_args(self, key: str | None = None, **changes: Any) -> dict[str, Any]:
        """volume.create of a plain volume on the first slow disk, or what `changes` say."""
        made = key or new_key()
        return {
            "name": f"v-{made}",
            "size_bytes": VOLUME_BYTES,
            "pvs": [self.world.slow[0]],
            "volume_key": made,
            "layout": "plain",
        } | changes

    def volume(self, layout: str = "plain", size_bytes: int = VOLUME_BYTES) -> str:
        """A volume of ours, zeroed; its name. bcache-ready ones lie on the other disk."""
        pv = self.world.slow[layout == "bcache"]
        args = self.volume_args(layout=layout, pvs=[pv], size_bytes=size_bytes)
        self.do("volume.create", args)
        return str(args["name"])

    def pool(self, volume: str, pv: str = "md0", size_bytes: int = POOL_BYTES) -> str:
        key = volume.removeprefix("v-")
        self.do("pool.create", pool_args(key, pv=pv, size_bytes=size_bytes))
        return f"c-{key}"

    def cached(self, mode: str = "writethrough") -> tuple[str, str]:
        """A volume with a dm-cache, and the name of its pool."""
        volume = self.volume()
        pool = self.pool(volume)
        self.do("cache.attach", {"lv": volume, "pool": pool, "mode": mode})
        return volume, pool

    def wide_cached(self) -> tuple[str, str]:
        """A wide volume with a small dm-cache, and the name of its pool."""
        volume = self.volume(size_bytes=WIDE_VOLUME_BYTES)
        pool = self.pool(volume, size_bytes=SMALL_POOL_BYTES)
        self.do("cache.attach", {"lv": volume, "pool": pool, "mode": "writethrough"})
        return volume, pool

    def wide_bcache(self) -> str:
        """A wide volume with a small bcache, which lets nothing pass."""
        volume = self.volume("bcache", size_bytes=WIDE_VOLUME_BYTES)
        self.do("bcache.format", {"lv": volume})
        made = cset_args(volume.removeprefix("v-"), size_bytes=SMALL_CSET_BYTES)
        self.do("cset.create", made | {"bucket_kib": 128})
        wished = {"cache_mode": "writethrough", "sequential_cutoff_bytes": 0}
        self.do("bcache.attach", {"lv": volume, "cset_uuid": made["cset_uuid"], **wished})
        return volume

    def cset(self, volume: str, pv: str = "md0") -> tuple[str, str]:
        """Name and uuid of a new cache set for a volume."""
        args = cset_args(volume.removeprefix("v-"), pv=pv)
        self.do("cset.create", args)
        return str(args["name"]), str(args["cset_uuid"])

    def backing(self) -> str:
        """A volume formatted for bcache."""
        volume = self.volume("bcache")
        self.do("bcache.format", {"lv": volume})
        return volume


def pool_args(key: str, *, pv: str = "md0", size_bytes: int = POOL_BYTES) -> dict[str, Any]:
    return {
        "name": f"c-{key}",
        "size_bytes": size_bytes,
        "pvs": [pv],
        "chunk_kib": 64,
        "volume_key": key,
    }


def cset_args(key: str, *, pv: str = "md0", size_bytes: int = CSET_BYTES) -> dict[str, Any]:
    return {
        "name": f"s-{key}",
        "size_bytes": size_bytes,
        "pvs": [pv],
        "cset_uuid": str(uuid.uuid4()),
        "bucket_kib": 512,
        "volume_key": key,
    }


def argvs(commands: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    return [command["argv"] for command in commands]
