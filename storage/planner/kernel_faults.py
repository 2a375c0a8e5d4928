"""Known faults of kernels and of LVM that concern caches: which releases have them, what happens,
and where that is written. Pure.

A fault that loses data refuses new plans of its technology, unless a person accepted it for the
host; the others warn. A release whose upstream base is unknown may have a fault: that counts as
having it. docs/operators.md has the same table for people.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from storage.agent.facts.program_versions import parse_version
from storage.inventory.facts import HostFacts, KernelIdentity
from storage.planner.draft import PlannedStep, Refused
from storage.planner.wish import TechnologyName

Version = tuple[int, ...]
Vendor = Literal[
    "", "debian", "ubuntu", "proxmox", "rhel", "xcp-ng", "suse", "oracle", "other", "vanilla"
]
Effect = Literal["data_loss", "outage", "slow"]
Standing = Literal["affected", "possible", "clear"]
EFFECTS: Final[Mapping[Effect, str]] = {
    "data_loss": "data loss",
    "outage": "volumes that stop",
    "slow": "slowness",
}
LAST: Final = 1 << 30
"""Above every number of a release."""
BACKPORTING: Final = frozenset({"rhel", "suse", "oracle", "xcp-ng", "other"})
"""Vendors whose kernels keep the number of an old release and take fixes from many later ones."""


@dataclass(frozen=True, slots=True)
class KernelRelease:
    """What a kernel says it is. `series` are the first two numbers, () where it says none; `base`
    is the upstream release that it is built from, None where only its vendor knows. `vendor` is ""
    where it is unknown. `branch` is the vendor's own line ("el7"), `build` its number there."""

    text: str
    series: Version = ()
    base: Version | None = None
    vendor: Vendor = ""
    branch: str = ""
    build: Version = ()


_NUMBERS = re.compile(r"(\d{1,3})\.(\d{1,4})(?:\.(\d{1,5}))?(?!\d)", re.ASCII)
_IN_DEBIAN = re.compile(r"\bDebian (\d{1,3})\.(\d{1,4})\.(\d{1,5})(?=[-~+ ])")
_IN_UBUNTU = re.compile(r"Ubuntu \S+ (\d{1,3})\.(\d{1,4})\.(\d{1,5})")
_UBUNTU = re.compile(
    r"-\d+-(generic|lowlatency|virtual|server|kvm|aws|azure|gcp|gke|oracle|oem|ibm|hwe|realtime)\b"
)
_DEBIAN_ARCH = r"(amd64|arm64|686|686-pae|armmp|armmp-lpae|ppc64el|powerpc64le|s390x|riscv64)"
_DEBIAN = re.compile(rf"-[\w.]+-((cloud|rt)-)?{_DEBIAN_ARCH}")
_DEBIAN_BASE = re.compile(rf"\+(deb|bpo)[\w.~-]*-{_DEBIAN_ARCH}")
_RHEL = re.compile(r"-(\d{1,5})(?:\.[\w.]+)?\.(el\d{1,2})(?!\d)")
_XCP = re.compile(r"\+\d{1,3}")
_SUSE = re.compile(
    r"-[\w.]+-(default|longterm)|-(lp)?\d+(\.\d+)+-(preempt|azure|rt|kvmsmall|64kb|coco)"
)
# OpenVZ, openEuler, Anolis, Kylin, TencentOS: an old release's number, and fixes of later ones.
_OTHER = re.compile(r"\.(vz|oe|an|ky|tl)\d|-tlinux")
# Ubuntu packages of unchanged upstream releases repeat the number: 6.1.15-060115-generic.
_MAINLINE = re.compile(r"-(76)?0\d{5}(?P<rc>rc\d+)?-(generic|lowlatency)\b")


def read_release(kernel: KernelIdentity) -> KernelRelease:
    """What `uname -r` says, with what `uname -v` and Ubuntu's /proc/version_signature add."""
    text = kernel.release
    numbers = _NUMBERS.match(text)
    if numbers is None:
        return KernelRelease(text)
    series = (int(numbers[1]), int(numbers[2]))
    named = None if numbers[3] is None else (*series, int(numbers[3]))
    rest = text[numbers.end() :]
    ubuntu, debian = _IN_UBUNTU.match(kernel.signature), _IN_DEBIAN.search(kernel.version)
    if "-pve" in rest:
        return KernelRelease(text, series, named, "proxmox")
    mainline = None if ubuntu is not None else _MAINLINE.match(rest)
    if mainline is not None:
        return KernelRelease(text, series, None if mainline["rc"] else named, "vanilla")
    if ubuntu is not None or "-Ubuntu" in kernel.version or _UBUNTU.match(rest):
        return KernelRelease(text, series, _triple(ubuntu), "ubuntu", build=_first_number(rest))
    if debian is not None or _DEBIAN.fullmatch(rest) or _DEBIAN_BASE.fullmatch(rest):
        own = named if _DEBIAN_BASE.fullmatch(rest) else None
        return KernelRelease(text, series, _triple(debian) or own, "debian")
    rhel = _RHEL.match(rest)
    if rhel is not None and "elrepo" not in rest and "uek" not in rest:
        return KernelRelease(text, series, None, "rhel", rhel[2], (int(rhel[1]),))
    if "uek" in rest:
        return KernelRelease(text, series, None, "oracle")
    if _XCP.fullmatch(rest):
        return KernelRelease(text, series, None, "xcp-ng")
    if _SUSE.fullmatch(rest):
        return KernelRelease(text, series, None, "suse")
    if _OTHER.search(rest):
        return KernelRelease(text, series, None, "other")
    # The 0 of x.y.0 with a suffix may be the vendor's, not upstream's; -rc is before the release.
    is_sure = named is not None and "-rc" not in rest and (named[2] or not rest)
    return KernelRelease(text, series, named if is_sure else None, "vanilla")


def _triple(match: re.Match[str] | None) -> Version | None:
    return None if match is None else (int(match[1]), int(match[2]), int(match[3]))


def _first_number(rest: str) -> Version:
    match = re.match(r"-(\d{1,9})", rest)
    return () if match is None else (int(match[1]),)


SETTERS: Final = frozenset({"cache.set", "bcache.set"})
"""Verbs that put data at risk only where they turn writeback on."""
MAKE_LVMCACHE: Final = frozenset({"cache.attach", "cache.set"})
MAKE_BCACHE: Final = frozenset({"bcache.attach", "bcache.set"})
"""Before it is attached, nothing relies on a pool, a cache set or a backing device."""


@dataclass(frozen=True, slots=True)
class KernelFault:
    """A fault of upstream releases from `since` to before `fixed`; `stable` are the releases of
    older series that have the fix too, `taken` those that took the fault from a later series.
    `vendors` says by vendor or branch from which build on it is fixed there, () for a vendor that
    never had it. With `program` "lvm" the releases are
    LVM's. `verbs` are the steps that begin to rely on what is faulty; where `rests` a cache that
    exists is in danger too, without any step. `of_cached`: the verbs matter only to a volume that
    has a cache."""

    code: str
    effect: Effect
    technology: TechnologyName
    since: Version
    fixed: Version
    verbs: frozenset[str]
    reason: str
    link: str
    correction: str
    stable: tuple[Version, ...] = ()
    taken: tuple[Version, ...] = ()
    vendors: Mapping[str, Version] = field(default_factory=dict)
    program: Literal["kernel", "lvm"] = "kernel"
    rests: bool = True
    of_cached: bool = False

    @property
    def is_refused(self) -> bool:
        return self.effect == "data_loss"

    def begin_in(self, series: Version) -> Version:
        """The first release with the fault that counts for this series."""
        return next((each for each in self.taken if each[:2] == series), self.since)


LORE = "https://lore.kernel.org"
FAULTS: Final[tuple[KernelFault, ...]] = (
    KernelFault(
        "bcache_bvec_5_15",
        "data_loss",
        "bcache",
        (5, 15, 0),
        (5, 15, 3),
        MAKE_BCACHE,
        "The first kernels 5.15 break the index of a bcache cache set while they start it: the "
        "cache is thrown out, and what only the SSD held is lost.",
        "https://github.com/NixOS/nixpkgs/issues/146384",
        "Boot kernel 5.15.3 or newer.",
    ),
    KernelFault(
        "bcache_biovec_4_14",
        "data_loss",
        "bcache",
        (4, 14, 0),
        (4, 14, 2),
        MAKE_BCACHE,
        "4.14.0 and 4.14.1 mix up the pages of I/O that bcache splits: data is damaged.",
        "https://github.com/hardkernel/linux/issues/327",
        "Boot kernel 4.14.2 or newer.",
    ),
    KernelFault(
        "bcache_gcc9",
        "data_loss",
        "bcache",
        (5, 0, 0),
        (5, 1, 12),
        MAKE_BCACHE,
        "Kernels 5.0 and 5.1 that GCC 9 compiled read wrong blocks from a bcache: file systems are "
        "damaged beyond repair.",
        "https://bugzilla.kernel.org/show_bug.cgi?id=203573",
        "Boot kernel 5.1.12 or newer.",
        # Their kernels of this time come from GCC 8 and older.
        vendors={"debian": (), "ubuntu": (), "proxmox": ()},
    ),
    KernelFault(
        "bcache_io_errors",
        "data_loss",
        "bcache",
        (3, 10, 0),
        (4, 18, 0),
        MAKE_BCACHE,
        "Before 4.18, bcache hardly handles I/O errors of the SSD and the disk: writes can be lost "
        "without an error in the guest.",
        "https://lists.ubuntu.com/archives/kernel-team/2019-July/101989.html",
        "Boot kernel 4.18 or newer.",
    ),
    KernelFault(
        "dm_cache_resize",
        "data_loss",
        "lvmcache",
        (5, 19, 0),
        (6, 4, 0),
        frozenset({"volume.extend"}),
        "Extending a volume with an LVM cache can crash kernels 5.19 to 6.3: LVM's own test of it "
        "is skipped there. What guests had not written yet is lost.",
        "https://github.com/lvmteam/lvm2/blob/975368ba1875bfd7ee53734b717251569c93646c/"
        "test/shell/lvextend-caches.sh",
        "Boot kernel 6.1.16 or newer of the series 6.1, or 6.4 or newer; or remove the cache, "
        "extend the volume, and add the cache again.",
        # CVE-2023-53765; 6.1.16 is announced with the fix (1678438125622@kroah.com).
        stable=((6, 1, 16),),
        rests=False,
        of_cached=True,
    ),
    KernelFault(
        "bcache_register_deadlock",
        "outage",
        "bcache",
        (3, 10, 0),
        (5, 19, 0),
        MAKE_BCACHE,
        "After a restart, a bcache whose journal is full may never register: the kernel waits for "
        "itself, and the volume does not come back.",
        "https://github.com/canonical/hotsos/pull/369",
        "Boot kernel 5.15.51 or newer of the series 5.15, or 5.19 or newer.",
        stable=((5, 15, 51),),
    ),
    KernelFault(
        "bcache_oversized_read",
        "outage",
        "bcache",
        (5, 12, 0),
        (5, 12, 11),
        MAKE_BCACHE,
        "Kernels 5.12.0 to 5.12.10 crash where a guest reads much at once of what a bcache does "
        "not hold.",
        "https://github.com/torvalds/linux/commit/41fe8d088e96",
        "Boot kernel 5.12.11 or newer.",
    ),
    KernelFault(
        "bcache_gc_oops",
        "outage",
        "bcache",
        (6, 5, 0),
        (6, 7, 0),
        MAKE_BCACHE,
        "The thread that collects the garbage of a bcache can crash: the cache then takes no new "
        "data until the host is restarted.",
        f"{LORE}/all/ZV9ZSyDLNDlzutgQ@pharmakeia.incertum.net/",
        "Boot kernel 5.15.142, 6.1.66, 6.6.5 or newer of its series, or 6.7 or newer.",
        stable=((4, 19, 301), (5, 4, 263), (5, 10, 203), (5, 15, 142), (6, 1, 66), (6, 6, 5)),
        taken=((4, 19, 289), (5, 4, 251), (5, 10, 188), (5, 15, 121), (6, 1, 39), (6, 4, 4)),
    ),
    KernelFault(
        "bcache_discard_panic",
        "outage",
        "bcache",
        (3, 10, 0),
        (5, 1, 0),
        MAKE_BCACHE,
        "A guest that trims its file system on a bcache in writeback can crash the host.",
        "http://lkml.iu.edu/hypermail/linux/kernel/1903.2/06205.html",
        "Boot kernel 4.9.165, 4.14.108, 4.19.31, 5.0.4 or newer of its series, or 5.1 or newer.",
        stable=((4, 9, 165), (4, 14, 108), (4, 19, 31), (5, 0, 4)),
    ),
    KernelFault(
        "dm_cache_mappings_4_18",
        "outage",
        "lvmcache",
        (4, 18, 0),
        (4, 19, 0),
        MAKE_LVMCACHE,
        "4.18 may refuse to activate a volume with an LVM cache: it cannot load the cache's "
        "mappings.",
        "https://github.com/stratis-storage/stratisd/issues/1212",
        "Boot kernel 4.19 or newer.",
        vendors={"el8": ()},
    ),
    KernelFault(
        "lvm_uncache",
        "outage",
        "lvmcache",
        (2, 3, 28),
        (2, 3, 31),
        frozenset({"cache.detach"}),
        "LVM 2.03.28 to 2.03.30 do not put a volume back as it was when its cache is removed.",
        "https://github.com/lvmteam/lvm2/blob/d80d346f4e121980f8deacf8789de93c47a0a523/"
        "doc/release-notes/2.03.31.mdwn",
        "Upgrade LVM to 2.03.31 or newer before you remove a cache.",
        program="lvm",
        rests=False,
    ),
    KernelFault(
        "dm_cache_full",
        "slow",
        "lvmcache",
        (3, 9, 0),
        (4, 12, 0),
        MAKE_LVMCACHE,
        "Before 4.12, a full LVM cache is hardly faster than the disk.",
        "http://strugglers.net/~andy/blog/2017/07/27/",
        "Boot kernel 4.12 or newer (RHEL and CentOS 7: 3.10.0-693 or newer).",
        vendors={"el7": (693,)},
    ),
    KernelFault(
        "dm_cache_cleaner",
        "slow",
        "lvmcache",
        (4, 12, 0),
        (6, 5, 0),
        frozenset({"cache.flush"}),
        "While a volume is in use, its LVM cache does not write new data back: a flush may never "
        "end.",
        "https://github.com/torvalds/linux/commit/1e4ab7b4c881cf26c1c72b3f56519e03475486fb",
        "Boot kernel 5.4.253, 5.10.190, 5.15.124, 6.1.43 or newer of its series, or 6.5 or newer.",
        stable=(
            (4, 19, 291),
            (5, 4, 253),
            (5, 10, 190),
            (5, 15, 124),
            (6, 1, 43),
            (6, 4, 8),
        ),
    ),
    KernelFault(
        "bcache_gc_asleep",
        "slow",
        "bcache",
        (3, 10, 0),
        (6, 10, 0),
        MAKE_BCACHE,
        "A bcache whose SSD was once 95 % full may bypass the SSD from then on: nothing wakes its "
        "garbage collection.",
        f"{LORE}/linux-bcache/20240527174733.16351-1-colyli@suse.de/",
        "Boot kernel 6.10 or newer. Workaround while the cache is bypassed: echo 1 > "
        "/sys/fs/bcache/UUID/internal/trigger_gc",
    ),
    KernelFault(
        "bcache_slow_heap",
        "slow",
        "bcache",
        (6, 11, 0),
        (6, 16, 0),
        MAKE_BCACHE,
        "On 6.11 to 6.15, a full bcache takes seconds every few minutes to find what it can reuse: "
        "guests wait for it.",
        "https://lkml.indiana.edu/hypermail/linux/kernel/2506.1/09411.html",
        "Boot kernel 6.12.36, 6.15.5 or newer of its series, or 6.16 or newer.",
        stable=((6, 12, 36), (6, 15, 5)),
    ),
)
BY_CODE: Final = {fault.code: fault for fault in FAULTS}


@dataclass(frozen=True, slots=True)
class PresentFault:
    """A fault that a host has, or (`is_sure` False) may have because the upstream release that its
    kernel is built from is unknown. `what` names kernel or LVM."""

    fault: KernelFault
    is_sure: bool
    what: str

    @property
    def message(self) -> str:
        """One or two sentences."""
        if self.is_sure:
            return f"{self.what}: {self.fault.reason}"
        return f"{self.what}, which does not say enough to rule this out: {self.fault.reason}"


def faults_of(facts: HostFacts) -> tuple[PresentFault, ...]:
    """The faults that the host has or may have, in the order of the table."""
    release = read_release(facts.kernel)
    made = []
    for fault in FAULTS:
        if fault.program == "lvm":
            standing, what = _of_lvm(fault, facts.lvm_version), f"LVM {facts.lvm_version}"
        else:
            standing = standing_of(fault, release)
            what = f"Kernel {release.text}" if release.text else "The kernel of this host"
        if standing != "clear":
            made.append(PresentFault(fault, standing == "affected", what))
    return tuple(made)


def _of_lvm(fault: KernelFault, version: str) -> Standing:
    """An LVM that does not say its version is refused by the agent anyway."""
    parsed = parse_version(version)
    return "affected" if parsed and fault.since <= parsed < fault.fixed else "clear"


def standing_of(fault: KernelFault, release: KernelRelease) -> Standing:
    """Whether this kernel has the fault."""
    own = fault.vendors.get(release.branch) or fault.vendors.get(release.vendor)
    if release.branch in fault.vendors or release.vendor in fault.vendors:
        return "affected" if own and release.build < own else "clear"
    if not release.series:
        return "possible"
    if release.base is not None:
        return "affected" if _has(fault, release.base) else "clear"
    first, last = (*release.series, 0), (*release.series, LAST)
    if last < fault.begin_in(release.series) or first >= fault.fixed:
        return "clear"
    is_whole = _has(fault, first) and _has(fault, last)
    return "affected" if is_whole and release.vendor not in BACKPORTING else "possible"


def _has(fault: KernelFault, base: Version) -> bool:
    if not fault.begin_in(base[:2]) <= base < fault.fixed:
        return False
    return all(base < fix for fix in fault.stable if fix[:2] == base[:2])


def concerns(fault: KernelFault, step: PlannedStep, facts: HostFacts) -> bool:
    """Whether a step begins to rely on what is faulty."""
    if step.verb not in fault.verbs or (step.verb in SETTERS and not _turns_on(step.args)):
        return False
    if not fault.of_cached:
        return True
    lv = facts.lv(str(step.expect.get("lv_uuid")))
    return lv is not None and lv.cache is not None


def _turns_on(args: Mapping[str, Any]) -> bool:
    return "writeback" in (args.get("mode"), args.get("cache_mode"))


def met_by(steps: Collection[PlannedStep], facts: HostFacts) -> Iterator[PresentFault]:
    """The faults of the host that a plan would rely on."""
    for present in faults_of(facts):
        if any(concerns(present.fault, step, facts) for step in steps):
            yield present


def refuse_faulty(
    steps: Collection[PlannedStep], facts: HostFacts, accepted: Iterable[str]
) -> None:
    """Raise `Refused` where a plan relies on what loses data here, unless `accepted` has its
    code."""
    known = frozenset(accepted)
    for present in met_by(steps, facts):
        if present.fault.is_refused and present.fault.code not in known:
            raise Refused(
                "kernel_fault", f"{present.message} {present.fault.link}", _way_out(present)
            )


def _way_out(present: PresentFault) -> str:
    if not present.what.startswith("The"):
        upgrade = present.fault.correction
    else:
        upgrade = (
            "Upgrade the agent: manage.py enrol, with the host's name and address, prints a "
            "command; run it as root on the host. Then refresh the host."
        )
    return (
        f"{upgrade} An admin can accept the risk on the host's page, under History "
        f"({present.fault.code})."
    )
