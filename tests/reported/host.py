"""A storage host that says what a test describes: disks, arrays, LVM's rows, bcache and files.

For states that no program of the fake host would make: a member that is gone, a word that LVM got
later, a link that the kernel did not make. The agent reads it as it reads any host; nothing of it
can be changed. What is left out has its usual value.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from storage.agent.facts.hello import hello
from storage.agent.facts.inventory import inventory
from storage.agent.kernel import lvm
from storage.agent.kernel.local_host import CommandResult, MissingTool
from storage.agent.operations.disk_checks import smart
from storage.agent.state.policy import load_policy
from storage.health.inventory_findings import findings_of
from storage.inventory.facts import HostFacts, decode
from tests.fake.tree import Tree

Row = Mapping[str, Any]
ROOT = "/dev/mapper"
LAYERS = {"cdata": "cdata", "cmeta": "cmeta", "corig": "real", "tdata": "tdata", "tmeta": "tmeta"}
"""What LVM appends to the device-mapper uuid of a hidden volume, by the end of its name."""


def uuid_of(name: str) -> str:
    """An LVM uuid that is the same for the same name."""
    letters = f"{name.encode().hex():A<32}"[-32:]
    ends = (0, 6, 10, 14, 18, 22, 26, 32)
    return "-".join(letters[a:b] for a, b in itertools.pairwise(ends))


def joined(text: str | Sequence[str]) -> str:
    return text if isinstance(text, str) else "\n".join(text) + "\n"


def listed(words: str | Sequence[str]) -> list[str]:
    return [word for word in words.split(",") if word] if isinstance(words, str) else [*words]


class ReportedHost:
    """The agent's `LocalHost`, as far as reading needs it."""

    def __init__(
        self,
        *,
        disks: Sequence[Row] = (),
        arrays: Sequence[Row] = (),
        lvm: Mapping[str, Sequence[Row]] | None = None,
        fullreport: Row | None = None,
        dm: Mapping[str, str | Sequence[str]] | None = None,
        tables: Mapping[str, str] | None = None,
        bcache: Mapping[str, Sequence[Row]] | None = None,
        policy: Row | None = None,
        files: Mapping[str, str | Sequence[str]] | None = None,
        links: Mapping[str, str] | None = None,
        nodes: Mapping[str, str] | None = None,
        lvm_version: str = "2.03.16(2)",
        smartctl: Row | None = None,
    ) -> None:
        self.tree = Tree()
        self.numbers: dict[str, str] = {}
        self.lsblk: list[dict[str, Any]] = []
        self.smartctl = smartctl
        self.dm = dm or {}
        self.tables = tables or {}
        self.lvm_version = lvm_version
        self.fullreport = fullreport or {}
        self.tree.file("/etc/tiercel/agent.json", json.dumps({"vgs": [], **(policy or {})}))
        self.tree.file("/proc/sys/kernel/osrelease", "6.1.0-37-amd64")
        for at, disk in enumerate(disks):
            self._disk(disk, at)
        for at, array in enumerate(arrays):
            self._array(array, at)
        self.rows = lvm or {"vgs": (), "pvs": (), "lvs": ()}
        self.knames: dict[tuple[str, str], str] = {}
        for at, lv in enumerate(self.rows.get("lvs", ())):
            self._volume(lv, at)
        for each in (bcache or {}).get("backings", ()):
            self._backing(each)
        for each in (bcache or {}).get("sets", ()):
            self._cset(each)
        for path, target in (links or {}).items():
            self.tree.link(path, target)
        for path, dev in (nodes or {}).items():
            self.tree.device(path, dev)
        for path, text in (files or {}).items():
            self.tree.file(path, joined(text))

    # What there is.

    def _block(self, name: str, dev: str, **files: str) -> None:
        self.numbers[name] = dev
        here = f"/sys/devices/virtual/block/{name}"
        self.tree.file(f"{here}/dev", dev)
        for file, text in files.items():
            self.tree.file(f"{here}/{file}", text)
        self.tree.link(f"/sys/block/{name}", f"../devices/virtual/block/{name}")
        self.tree.link(f"/sys/class/block/{name}", f"../../devices/virtual/block/{name}")
        self.tree.link(f"/sys/dev/block/{dev}", f"../../devices/virtual/block/{name}")
        self.tree.device(f"/dev/{name}", dev)

    def _disk(self, disk: Row, at: int) -> None:
        name = disk["name"]
        dev = disk.get("dev", f"8:{at * 16}")
        size = str(disk.get("size", 1 << 40) // 512)
        self._block(name, dev, size=size)
        here = f"/sys/devices/virtual/block/{name}"
        self.tree.folder(f"{here}/device")
        self.tree.file(f"{here}/queue/rotational", str(int(disk.get("rota", True))))
        self.tree.file(f"{here}/queue/logical_block_size", "512")
        major, _, minor = dev.partition(":")
        for number, part in enumerate(disk.get("partitions", ()), 1):
            own = f"{major}:{int(minor) + number}"
            self.numbers[part] = own
            self.tree.file(f"{here}/{part}/dev", own)
            self.tree.link(f"/sys/class/block/{part}", f"../../devices/virtual/block/{name}/{part}")
            self.tree.link(f"/sys/dev/block/{own}", f"../../devices/virtual/block/{name}/{part}")
            self.tree.device(f"/dev/{part}", own)
        usual = {"type": "disk", "size": 1 << 40, "rota": True, "model": "", "serial": name}
        row = {**usual, **disk, "kname": name, "maj:min": dev, "log-sec": 512}
        self.lsblk.append({key: value for key, value in row.items() if key != "partitions"})

    def _array(self, array: Row, at: int) -> None:
        name = array["name"]
        self._block(name, array.get("dev", f"9:{at}"), size=str(array.get("sectors", 1 << 21)))
        here = f"/sys/devices/virtual/block/{name}"
        self.tree.file(f"{here}/queue/rotational", str(int(array.get("rota", True))))
        usual = {
            "level": "raid1",
            "array_state": "clean",
            "degraded": "0",
            "sync_action": "idle",
            "sync_completed": "none",
            "raid_disks": "2",
            "mismatch_cnt": "0",
            "uuid": f"{at:08x}-0000-4000-8000-000000000000",
        }
        for file, text in {**usual, **array}.items():
            if file not in ("name", "dev", "members", "sectors", "rota") and text is not None:
                self.tree.file(f"{here}/md/{file}", str(text))
        for member, (state, slot) in array.get("members", {}).items():
            self.tree.file(f"{here}/md/dev-{member}/state", state)
            self.tree.file(f"{here}/md/dev-{member}/slot", slot)
            self.tree.link(f"{here}/slaves/{member}", f"/sys/class/block/{member}")

    def _volume(self, lv: Row, at: int) -> None:
        if not lv.get("active", True) or not lv.get("device", True):
            return
        kname, vg, name = f"dm-{at}", lv["vg"], lv["name"]
        self.knames[vg, name] = kname
        dm_name = "-".join(part.replace("-", "--") for part in (vg, name))
        layer = lv.get("layer", LAYERS.get(name.rsplit("_", 1)[-1] if "_" in name else "", ""))
        plain = "".join((uuid_of(vg) + uuid_of(f"{vg}/{name}")).split("-"))
        size = str(lv.get("size", 1 << 30) // 512)
        self._block(kname, f"253:{at}", size=size)
        here = f"/sys/devices/virtual/block/{kname}"
        self.tree.file(f"{here}/dm/name", dm_name)
        self.tree.file(f"{here}/dm/uuid", f"LVM-{plain}{f'-{layer}' if layer else ''}")
        self.tree.file(f"{here}/dm/suspended", "0")
        self.tree.link(f"{ROOT}/{dm_name}", f"../{kname}")
        self.tree.link(f"/dev/{vg}/{name}", f"../{kname}")

    def _backing(self, backing: Row) -> None:
        device, kname = backing.get("device"), backing["on"]
        real = self.real(f"/sys/class/block/{kname}") or ""
        for file, text in backing.items():
            if file not in ("on", "device", "set"):
                self.tree.file(f"{real}/bcache/{file}", text)
        self.tree.file(f"{real}/bcache/backing_dev_uuid", backing.get("uuid", f"uuid-{kname}"))
        if device:
            self._block(device, "254:0", size="1000")
            self.tree.link(f"{real}/bcache/dev", f"/sys/block/{device}")
            self.tree.link(f"/sys/devices/virtual/block/{device}/bcache", f"{real}/bcache")
        if backing.get("set"):
            self.tree.link(f"{real}/bcache/cache", f"/sys/fs/bcache/{backing['set']}")

    def _cset(self, cset: Row) -> None:
        here = f"/sys/fs/bcache/{cset['uuid']}"
        self.tree.folder(here)
        for file, text in cset.items():
            if file not in ("uuid", "on", "backings"):
                self.tree.file(f"{here}/{file}", text)
        for at, kname in enumerate(cset.get("backings", ())):
            self.tree.link(f"{here}/bdev{at}", f"{self.real(f'/sys/class/block/{kname}')}/bcache")
        if "on" in cset:
            real = self.real(f"/sys/class/block/{cset['on']}")
            self.tree.file(f"{real}/bcache/nbuckets", "1000")
            self.tree.link(f"{here}/cache0", f"{real}/bcache")
            self.tree.link(f"{real}/bcache/set", here)

    # What its programs say.

    def run(self, argv: Sequence[str], **_: Any) -> CommandResult:
        words = list(argv)
        answers: dict[tuple[str, ...], Callable[[], CommandResult]] = {
            ("lvm", "fullreport"): self._fullreport,
            ("lvm", "version"): lambda: said(f"  LVM version:     {self.lvm_version} (2022-05-18)"),
            ("smartctl", "--scan"): self._scan,
            ("dmsetup", "status"): lambda: said(joined(self.dm.get(words[-1], ""))),
            ("dmsetup", "table"): lambda: said(joined(self.tables.get(words[-1], ""))),
        }
        if words[0] == "lsblk":
            return said(json.dumps({"blockdevices": self.lsblk}))
        if words[:2] == ["smartctl", "--json"]:
            return self._smart(words)
        answer = answers.get((words[0], words[1]) if len(words) > 1 else ())
        if answer is None:
            raise MissingTool(words[0])
        return answer()

    def _fullreport(self) -> CommandResult:
        volumes = self.rows.get("lvs", ())
        parts = []
        for vg in self.rows.get("vgs", ()):
            name = vg["name"]
            pvs = [self._pv(vg, row) for row in self.rows.get("pvs", ()) if row.get("vg") == name]
            lvs = [self._lv(row) for row in volumes if row["vg"] == name]
            parts.append({"vg": [{"vg_uuid": uuid_of(name)}], "pv": pvs, "seg": lvs})
        loose = [self._pv({}, row) for row in self.rows.get("pvs", ()) if not row.get("vg")]
        if loose:
            parts.append({"pv": loose})
        rc = self.fullreport.get("rc", 0)
        stderr = joined(self.fullreport.get("stderr", ""))
        return CommandResult(rc, json.dumps({"report": parts}), stderr)

    def _pv(self, vg: Row, row: Row) -> dict[str, str]:
        name = vg.get("name", "")
        missing = sum(bool(p.get("missing")) for p in self.rows["pvs"] if p.get("vg") == name)
        major, _, minor = self._number(row["name"].removeprefix("/dev/")).partition(":")
        usual = dict.fromkeys(lvm.PVS.split(","), "")
        own = {
            "pv_uuid": row.get("uuid", uuid_of(row["name"])),
            "pv_name": row["name"],
            "vg_uuid": uuid_of(name) if name else "",
            "vg_name": name,
            "pv_missing": str(int(bool(row.get("missing")))),
            "pv_duplicate": str(int(bool(row.get("duplicate")))),
            "pv_allocatable": "1",
            "pv_exported": "0",
            "pv_major": major,
            "pv_minor": minor,
            "vg_missing_pv_count": row.get("counted", str(missing)),
            **row.get("fields", {}),
        }
        sizes = {"dev_size": 1 << 40, "pv_size": 1 << 40, "pv_free": 1 << 39, "vg_size": 1 << 41,
                 "vg_free": 1 << 40, "vg_extent_size": 1 << 22, "vg_seqno": 7,
                 "vg_mda_size": 1 << 20, "vg_mda_free": 1 << 19}  # fmt: skip
        return {**usual, **{key: str(value) for key, value in sizes.items()}, **own}

    def _number(self, name: str) -> str:
        return self.numbers.get(name, "-1:-1")

    def _lv(self, lv: Row) -> dict[str, str]:
        vg, name, pool = lv["vg"], lv["name"], lv.get("pool", "")
        kname = self.knames.get((vg, name))
        major, _, minor = (self.numbers[kname] if kname else "-1:-1").partition(":")
        usual = dict.fromkeys(lvm.LVS.split(","), "")
        size = str(lv.get("size", 1 << 30))
        return {
            **usual,
            "lv_uuid": uuid_of(f"{vg}/{name}"),
            "lv_name": name,
            "vg_uuid": uuid_of(vg),
            "vg_name": vg,
            "vg_seqno": "7",
            "lv_size": size,
            "lv_layout": lv.get("layout", "linear"),
            "lv_role": lv.get("role", "public"),
            "lv_tags": lv.get("tags", ""),
            "lv_active": "active" if lv.get("active", True) else "",
            "lv_suspended": "0",
            "lv_device_open": "0",
            "lv_kernel_major": major,
            "lv_kernel_minor": minor,
            "lv_health_status": lv.get("health", ""),
            "pool_lv": pool,
            "pool_lv_uuid": uuid_of(f"{vg}/{pool}") if pool else "",
            "segtype": lv.get("type", "linear"),
            "seg_start": "0",
            "seg_size": size,
            "devices": ",".join(listed(lv.get("devices", ()))),
            "metadata_devices": ",".join(listed(lv.get("metadata", ()))),
            "chunk_size": str(lv.get("chunk", 0)),
            "cache_mode": lv.get("mode", ""),
            "cache_policy": lv.get("policy", ""),
            "origin": lv.get("origin", ""),
        }

    def _scan(self) -> CommandResult:
        if self.smartctl is None:
            raise MissingTool("smartctl")
        rows = [{"name": d["name"], "type": d.get("type", "")} for d in self.smartctl["devices"]]
        version = {"version": [7, 3], "exit_status": 0}
        return said(json.dumps({"smartctl": version, "devices": rows}))

    def _smart(self, words: Sequence[str]) -> CommandResult:
        kind = words[words.index("-d") + 1] if "-d" in words else ""
        devices: Sequence[Row] = (self.smartctl or {})["devices"]
        one = next(
            each
            for each in devices
            if each["name"] == words[-1] and each.get("type", "") in (kind, "scsi", "ata")
        )
        document = one["document"]
        rc = one.get("rc", document.get("smartctl", {}).get("exit_status", 0))
        return CommandResult(rc, json.dumps(document), one.get("stderr", ""))

    # The rest of a machine that is only read.

    def stuck(self) -> None:
        return None

    def has_tool(self, name: str) -> bool:
        return True

    def read(self, path: str) -> bytes | None:
        real = self.tree.resolve(path)
        content = None if real is None else self.tree.files.get(real)
        return None if content is None else content()

    def list(self, path: str) -> Sequence[str]:
        real = self.tree.resolve(path)
        return sorted(self.tree.folders.get(real or "", ()))

    def link(self, path: str) -> str | None:
        return self.tree.stored(path)

    def real(self, path: str) -> str | None:
        return self.tree.resolve(path)

    def exists(self, path: str) -> bool:
        return self.tree.resolve(path) is not None

    def rdev(self, path: str) -> str | None:
        return self.tree.devices.get(self.tree.resolve(path) or "")

    def exclusive(self, path: str) -> bool:
        return True

    def dm_message(self, name: str, message: str) -> str:
        raise OSError(22, "Invalid argument")

    def boottime_ns(self) -> int:
        return 10**12

    def wall_ns(self) -> int:
        return 1_790_000_000 * 10**9

    def hostname(self) -> str:
        return "reported"

    def save(self, path: str, data: bytes) -> None:
        raise OSError(30, "Read-only file system")


def said(stdout: str) -> CommandResult:
    return CommandResult(0, stdout, "")


class Seen:
    """What agent and panel make of a host: the agent's `facts`, the same decoded, its problems, and
    the findings of an inventory without records."""

    def __init__(self, **described: Any) -> None:
        machine: Any = ReportedHost(**described)
        self.facts = inventory(machine, load_policy(machine))
        self.host: HostFacts = decode(json.loads(json.dumps(self.facts)))
        self.problems = hello(machine)["problems"]
        self.findings = findings_of(self.host, ())

    @property
    def codes(self) -> list[str]:
        """Of agent and panel, each once."""
        codes = {each["code"] for each in self.problems} | {each.code for each in self.findings}
        return sorted(codes - MACHINES_OWN)

    @property
    def text(self) -> str:
        """All sentences and corrections, one problem a line."""
        agents = [
            f"{each['severity']} {each['message']} {each['correction']}"
            for each in self.problems
            if each["code"] not in MACHINES_OWN
        ]
        panels = [f"{each.severity} {each.message} {each.correction}" for each in self.findings]
        return "\n".join([*agents, *panels])

    def lv(self, name: str) -> Any:
        return next(each for each in self.host.lvs if each.name == name)

    def pv(self, name: str) -> Any:
        return next(each for each in self.host.pvs if each.name == name)

    def array(self, name: str) -> Any:
        return next(each for each in self.host.arrays if each.name == name)


MACHINES_OWN = frozenset(
    {
        "no_dbus",
        "no_boot_unit",
        "untried_versions",
        "no_systemd",
        "systemd_old",
        "split_vgs",
        "bcache_scanned",
        "no_bcache_tools",
        "util_linux_old",
        "lvm_old",
    }
)
"""Problems of the machine that a test describes only in part."""


def disk_answers(**described: Any) -> list[dict[str, Any]]:
    """What the verb `smart` says of each disk."""
    machine: Any = ReportedHost(**described)
    return list(smart(machine)["disks"])
