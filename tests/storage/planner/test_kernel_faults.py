"""Which kernels have which faults, and what a plan on such a host comes to."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from storage.agent.verbs.registry import VERBS
from storage.inventory.facts import HostFacts, KernelIdentity
from storage.planner import PlannedStep, Refused
from storage.planner.kernel_faults import (
    BY_CODE,
    EFFECTS,
    FAULTS,
    KernelFault,
    KernelRelease,
    faults_of,
    met_by,
    read_release,
    refuse_faulty,
    standing_of,
)
from tests import make

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "operators.md"
NONE: frozenset[str] = frozenset()
# What each release has, by the codes of the faults, with "?" where it only may have one.
OLD = {"bcache_io_errors", "bcache_register_deadlock", "bcache_discard_panic", "bcache_gc_asleep"}
SLOW = {"dm_cache_cleaner", "bcache_gc_asleep"}
LATE = {"bcache_register_deadlock", "bcache_gc_asleep"}
BCACHE_6 = {"bcache_gc_asleep"}


def debian(base: str) -> str:
    return f"#1 SMP PREEMPT_DYNAMIC Debian {base}-1 (2024-01-01)"


def maybe(codes: set[str]) -> set[str]:
    return {f"{code}?" for code in codes}


RELEASES: tuple[tuple[KernelIdentity, set[str]], ...] = (
    # Debian 9 to 13, with and without the stable release in `uname -v`.
    (KernelIdentity("4.9.0-19-amd64", debian("4.9.320")),
     OLD - {"bcache_discard_panic"} | {"dm_cache_full"}),
    (KernelIdentity("4.9.0-8-amd64", debian("4.9.144")), OLD | {"dm_cache_full"}),
    (KernelIdentity("4.9.0-19-amd64"),
     OLD - {"bcache_discard_panic"} | {"dm_cache_full", "bcache_discard_panic?"}),
    (KernelIdentity("4.14.0-0.bpo.2-amd64", debian("4.14.7")), OLD | SLOW),
    (KernelIdentity("4.14.0-0.bpo.1-amd64", debian("4.14.0")),
     OLD | SLOW | {"bcache_biovec_4_14"}),
    (KernelIdentity("4.19.0-27-amd64", debian("4.19.316")), LATE),
    (KernelIdentity("4.19.0-20-amd64", debian("4.19.235")), LATE | SLOW),
    (KernelIdentity("4.19.0-27-cloud-amd64"),
     LATE | {"bcache_discard_panic?", "dm_cache_cleaner?"} | {"bcache_gc_oops?"}),
    (KernelIdentity("5.10.0-33-amd64", debian("5.10.226")), LATE),
    (KernelIdentity("5.10.0-18-amd64", debian("5.10.140")), LATE | SLOW),
    (KernelIdentity("5.10.0-46-amd64"), LATE | {"dm_cache_cleaner?"} | {"bcache_gc_oops?"}),
    (KernelIdentity("5.12.9-arch1-1"), LATE | SLOW | {"bcache_oversized_read"}),
    (KernelIdentity("5.12.0"), LATE | SLOW | {"bcache_oversized_read"}),
    (KernelIdentity("5.12.11-arch1-1"), LATE | SLOW),
    (KernelIdentity("5.11.22"), LATE | SLOW),
    (KernelIdentity("5.13.1"), LATE | SLOW),
    (KernelIdentity("5.15.0-0.bpo.2-amd64", debian("5.15.5")), LATE | SLOW),
    (KernelIdentity("5.15.0-1-amd64", debian("5.15.2")), LATE | SLOW | {"bcache_bvec_5_15"}),
    (KernelIdentity("5.19.0-2-amd64", debian("5.19.11")), SLOW | {"dm_cache_resize"}),
    (KernelIdentity("6.0.0-6-amd64", debian("6.0.12")), SLOW | {"dm_cache_resize"}),
    (KernelIdentity("6.1.0-28-amd64", debian("6.1.119")), BCACHE_6),
    (KernelIdentity("6.1.0-37-amd64", debian("6.1.140")), BCACHE_6),
    (KernelIdentity("6.1.0-10-amd64", debian("6.1.38")), SLOW),
    (KernelIdentity("6.1.0-5-amd64", debian("6.1.12")), SLOW | {"dm_cache_resize"}),
    (KernelIdentity("6.1.0-28-amd64"),
     BCACHE_6 | {"dm_cache_resize?", "dm_cache_cleaner?"} | {"bcache_gc_oops?"}),
    (KernelIdentity("6.1.0-28-rt-amd64", debian("6.1.119")), BCACHE_6),
    (KernelIdentity("6.1.0-0.deb11.13-amd64", debian("6.1.55")), BCACHE_6
     | {"bcache_gc_oops"}),
    (KernelIdentity("6.12.57+deb13-amd64", debian("6.12.57")), set()),
    (KernelIdentity("6.12.57+deb13-cloud-amd64"), set()),
    (KernelIdentity("6.12.12+bpo-amd64"), {"bcache_slow_heap"}),
    (KernelIdentity("6.12.57+deb13-arm64"), set()),
    # Ubuntu 16.04 to 24.04, with hardware enablement kernels.
    (KernelIdentity("4.4.0-210-generic", "#242-Ubuntu SMP", "Ubuntu 4.4.0-210.242-generic 4.4.262"),
     OLD | {"dm_cache_full"}),
    (KernelIdentity("4.4.0-21-generic"), OLD | {"dm_cache_full"}),
    (KernelIdentity("4.8.0-58-generic", "#63~16.04.1-Ubuntu SMP"), OLD | {"dm_cache_full"}),
    (KernelIdentity("4.10.0-42-generic", "#46~16.04.1-Ubuntu SMP"), OLD | {"dm_cache_full"}),
    (KernelIdentity("4.15.0-213-generic", "#224-Ubuntu SMP",
                    "Ubuntu 4.15.0-213.224-generic 4.15.18"), OLD | SLOW),
    (KernelIdentity("4.18.0-25-generic", "#26~18.04.1-Ubuntu SMP",
                    "Ubuntu 4.18.0-25.26~18.04.1-generic 4.18.20"),
     OLD - {"bcache_io_errors"} | SLOW | {"dm_cache_mappings_4_18"}),
    (KernelIdentity("5.0.0-65-generic", "#71-Ubuntu SMP", "Ubuntu 5.0.0-65.71-generic 5.0.21"),
     LATE | SLOW),
    (KernelIdentity("5.3.0-76-generic", "#72-Ubuntu SMP", "Ubuntu 5.3.0-76.72-generic 5.3.18"),
     LATE | SLOW),
    (KernelIdentity("5.4.0-216-generic", "#236-Ubuntu SMP",
                    "Ubuntu 5.4.0-216.236-generic 5.4.291"), LATE),
    (KernelIdentity("5.4.0-150-generic", "#167~18.04.1-Ubuntu SMP",
                    "Ubuntu 5.4.0-150.167~18.04.1-generic 5.4.233"), LATE | SLOW),
    (KernelIdentity("5.15.0-91-generic", "#101-Ubuntu SMP Tue Nov 14 13:30:08 UTC 2023",
                    "Ubuntu 5.15.0-91.101-generic 5.15.131"), BCACHE_6 | {"bcache_gc_oops"}),
    (KernelIdentity("5.15.0-25-generic", "#25-Ubuntu SMP", "Ubuntu 5.15.0-25.25-generic 5.15.30"),
     LATE | SLOW),
    (KernelIdentity("5.15.0-91-generic"),
     BCACHE_6 | {"bcache_bvec_5_15?", "bcache_register_deadlock?", "dm_cache_cleaner?"}
     | {"bcache_gc_oops?"}),
    (KernelIdentity("5.15.0-91-lowlatency", "#101~20.04.1-Ubuntu SMP",
                    "Ubuntu 5.15.0-91.101~20.04.1-lowlatency 5.15.131"), BCACHE_6
     | {"bcache_gc_oops"}),
    (KernelIdentity("5.19.0-50-generic", "#50-Ubuntu SMP", "Ubuntu 5.19.0-50.50-generic 5.19.17"),
     SLOW | {"dm_cache_resize"}),
    (KernelIdentity("6.2.0-39-generic", "#40~22.04.1-Ubuntu SMP",
                    "Ubuntu 6.2.0-39.40~22.04.1-generic 6.2.16"), SLOW | {"dm_cache_resize"}),
    (KernelIdentity("6.5.0-45-generic", "#45~22.04.1-Ubuntu SMP",
                    "Ubuntu 6.5.0-45.45~22.04.1-generic 6.5.13"), BCACHE_6
     | {"bcache_gc_oops"}),
    (KernelIdentity("6.8.0-49-generic", "#49-Ubuntu SMP", "Ubuntu 6.8.0-49.49-generic 6.8.12"),
     BCACHE_6),
    (KernelIdentity("6.8.0-1018-aws", "#20-Ubuntu SMP", "Ubuntu 6.8.0-1018.20-aws 6.8.12"),
     BCACHE_6),
    (KernelIdentity("6.11.0-29-generic", "#29~24.04.1-Ubuntu SMP",
                    "Ubuntu 6.11.0-29.29~24.04.1-generic 6.11.11"), {"bcache_slow_heap"}),
    (KernelIdentity("6.14.0-24-generic"), {"bcache_slow_heap"}),
    # RHEL, Alma, CentOS and what is built for them.
    (KernelIdentity("3.10.0-514.el7.x86_64"), maybe(OLD) | {"dm_cache_full"}),
    (KernelIdentity("3.10.0-693.el7.x86_64"), maybe(OLD)),
    (KernelIdentity("3.10.0-1160.119.1.el7.x86_64"), maybe(OLD)),
    (KernelIdentity("4.18.0-553.el8_10.x86_64"),
     maybe(OLD - {"bcache_io_errors"} | {"dm_cache_cleaner"})),
    (KernelIdentity("4.18.0-80.el8.x86_64"),
     maybe(OLD - {"bcache_io_errors"} | {"dm_cache_cleaner"})),
    (KernelIdentity("5.14.0-503.el9.x86_64"), maybe(LATE | SLOW)),
    (KernelIdentity("5.14.0-427.13.1.el9_4.x86_64"), maybe(LATE | SLOW)),
    (KernelIdentity("6.12.0-55.9.1.el10_0.x86_64"), {"bcache_slow_heap?"}),
    (KernelIdentity("5.4.278-1.el7.elrepo.x86_64"), LATE),
    (KernelIdentity("6.11.4-1.el9.elrepo.x86_64"), {"bcache_slow_heap"}),
    (KernelIdentity("5.15.0-300.163.18.el9uek.x86_64"),
     maybe(LATE | SLOW | {"bcache_bvec_5_15"}) | {"bcache_gc_oops?"}),
    # Proxmox VE 5 to 9.
    (KernelIdentity("4.10.17-5-pve"), OLD | {"dm_cache_full"}),
    (KernelIdentity("4.13.16-4-pve"), OLD | SLOW),
    (KernelIdentity("4.15.18-30-pve"), OLD | SLOW),
    (KernelIdentity("5.0.21-5-pve"), LATE | SLOW),
    (KernelIdentity("5.3.18-3-pve"), LATE | SLOW),
    (KernelIdentity("5.4.203-1-pve"), LATE | SLOW),
    (KernelIdentity("5.13.19-6-pve"), LATE | SLOW),
    (KernelIdentity("5.15.131-2-pve", "#1 SMP PVE 5.15.131-3 (2023-11-14T20:32Z)"), BCACHE_6
     | {"bcache_gc_oops"}),
    (KernelIdentity("5.19.17-2-pve"), SLOW | {"dm_cache_resize"}),
    (KernelIdentity("6.1.15-1-pve"), SLOW | {"dm_cache_resize"}),
    (KernelIdentity("6.2.16-20-pve"), SLOW | {"dm_cache_resize"}),
    (KernelIdentity("6.5.13-6-pve"), BCACHE_6 | {"bcache_gc_oops"}),
    (KernelIdentity("6.8.12-4-pve", "#1 SMP PREEMPT_DYNAMIC PMX 6.8.12-4 (2024-11-06T15:04Z)"),
     BCACHE_6),
    (KernelIdentity("6.14.8-2-pve"), {"bcache_slow_heap"}),
    # XenServer and XCP-ng; a dom0 of Debian's runs Debian's kernel.
    (KernelIdentity("4.4.0+10"), maybe(OLD | {"dm_cache_full"})),
    (KernelIdentity("4.19.0+1"),
     maybe(LATE | SLOW | {"bcache_discard_panic"}) | {"bcache_gc_oops?"}),
    # Vanilla, with the suffixes of providers.
    (KernelIdentity("5.15.2"), LATE | SLOW | {"bcache_bvec_5_15"}),
    (KernelIdentity("5.15.3"), LATE | SLOW),
    (KernelIdentity("5.15.178"), BCACHE_6),
    (KernelIdentity("4.14.1"), OLD | SLOW | {"bcache_biovec_4_14"}),
    (KernelIdentity("4.14.2"), OLD | SLOW),
    (KernelIdentity("5.1.11-arch1-1-ARCH"), LATE | SLOW | {"bcache_gcc9"}),
    (KernelIdentity("5.1.12-arch1-1-ARCH"), LATE | SLOW),
    (KernelIdentity("6.1.16"), SLOW),
    (KernelIdentity("6.1.15"), SLOW | {"dm_cache_resize"}),
    (KernelIdentity("6.3.13"), SLOW | {"dm_cache_resize"}),
    (KernelIdentity("6.4.16-hetzner"), BCACHE_6 | {"bcache_gc_oops"}),
    (KernelIdentity("6.10.14"), set()),
    (KernelIdentity("6.1.119-xxxx-std-ipv6-64"), BCACHE_6),
    (KernelIdentity("4.19-ovh-xxxx-std-ipv6-64"),
     LATE | {"bcache_discard_panic?", "dm_cache_cleaner?"} | {"bcache_gc_oops?"}),
    (KernelIdentity("6.1.0-custom"), BCACHE_6 | {"dm_cache_resize?", "dm_cache_cleaner?"}
     | {"bcache_gc_oops?"}),
    (KernelIdentity("6.12.0-rc1"), {"bcache_slow_heap?"}),
    (KernelIdentity("6.1.119-129.201.amzn2023.x86_64"), BCACHE_6),
    (KernelIdentity("6.11.4-301.fc41.x86_64"), {"bcache_slow_heap"}),
    (KernelIdentity("5.14.21-150500.55.39-default"), maybe(LATE | SLOW)),
    # Nothing is known of it.
    (KernelIdentity(), {f"{fault.code}?" for fault in FAULTS if fault.program == "kernel"}),
    (KernelIdentity("custom-build"),
     {f"{fault.code}?" for fault in FAULTS if fault.program == "kernel"}),
)  # fmt: skip


def host(kernel: KernelIdentity, **more: object) -> HostFacts:
    return replace(make.facts(make.lv(name="web")), kernel=kernel, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kernel", "expected"), RELEASES, ids=lambda each: getattr(each, "release", "")
)
def test_a_release_has_the_faults_that_are_known_of_it(
    kernel: KernelIdentity, expected: set[str]
) -> None:
    listed = faults_of(host(kernel))
    had = {f"{each.fault.code}{'' if each.is_sure else '?'}" for each in listed}
    assert had == expected


def test_enough_releases_are_tried() -> None:
    assert len(RELEASES) >= 60


@pytest.mark.parametrize(
    ("kernel", "base", "vendor"),
    [
        (KernelIdentity("6.1.0-28-amd64", debian("6.1.119")), (6, 1, 119), "debian"),
        (KernelIdentity("6.1.0-28-amd64"), None, "debian"),
        (KernelIdentity("6.12.57+deb13-amd64"), (6, 12, 57), "debian"),
        (KernelIdentity("5.15.0-91-generic"), None, "ubuntu"),
        (KernelIdentity("5.15.0-91-generic", "", "Ubuntu 5.15.0-91.101-generic 5.15.131"),
         (5, 15, 131), "ubuntu"),
        (KernelIdentity("3.10.0-693.el7.x86_64"), None, "rhel"),
        (KernelIdentity("6.8.12-4-pve"), (6, 8, 12), "proxmox"),
        (KernelIdentity("4.19.0+1"), None, "xcp-ng"),
        (KernelIdentity("6.12.4"), (6, 12, 4), "vanilla"),
        (KernelIdentity("\N{ARABIC-INDIC DIGIT SIX}.1"), None, ""),
        (KernelIdentity("6." + "9" * 400), None, ""),
    ],
)  # fmt: skip
def test_a_release_names_its_upstream_base_where_it_can(
    kernel: KernelIdentity, base: tuple[int, ...] | None, vendor: str
) -> None:
    release = read_release(kernel)
    assert (release.base, release.vendor) == (base, vendor)


def test_a_vendors_own_number_says_what_it_took_back() -> None:
    full = BY_CODE["dm_cache_full"]
    assert standing_of(full, read_release(KernelIdentity("3.10.0-692.el7.x86_64"))) == "affected"
    assert standing_of(full, read_release(KernelIdentity("3.10.0-693.el7.x86_64"))) == "clear"


def test_a_kernel_that_says_nothing_is_never_clear_of_data_loss() -> None:
    for fault in FAULTS:
        if fault.is_refused:
            assert standing_of(fault, KernelRelease("")) == "possible"


@pytest.mark.parametrize(
    ("version", "has"),
    [("2.03.27", False), ("2.03.28", True), ("2.03.30", True), ("2.03.31", False), ("", False)],
)
def test_lvm_has_faults_of_its_own(version: str, has: bool) -> None:
    facts = host(KernelIdentity("6.16.4"), lvm_version=version)
    assert [present.fault.code for present in faults_of(facts)] == ["lvm_uncache"] * has


# --- Plans ---------------------------------------------------------------------------------------

NEW_BCACHE = PlannedStep("bcache.attach", {}, {}, "Attach")
BROKEN = KernelIdentity("5.15.2")


def test_data_loss_refuses_with_reason_link_and_way_out() -> None:
    with pytest.raises(Refused) as refused:
        refuse_faulty([NEW_BCACHE], host(BROKEN), NONE)
    fault = BY_CODE["bcache_bvec_5_15"]
    assert refused.value.code == "kernel_fault"
    assert refused.value.message.startswith(f"Kernel 5.15.2: {fault.reason}")
    assert fault.link in refused.value.message
    assert fault.correction in refused.value.correction
    assert fault.code in refused.value.correction


def test_what_a_person_accepted_is_not_refused_and_nothing_else() -> None:
    refuse_faulty([NEW_BCACHE], host(BROKEN), {"bcache_bvec_5_15"})
    with pytest.raises(Refused):
        refuse_faulty([NEW_BCACHE], host(BROKEN), {"bcache_gcc9"})


def test_another_technology_and_the_way_out_of_the_faulty_one_stay_free() -> None:
    steps = [
        PlannedStep(verb, {}, {}, "")
        for verb in ("pool.create", "cache.attach", "bcache.detach", "bcache.flush", "cset.remove")
    ]
    refuse_faulty(steps, host(BROKEN), NONE)


@pytest.mark.parametrize(("mode", "is_refused"), [("writeback", True), ("writethrough", False)])
def test_a_mode_is_refused_only_where_it_is_writeback(mode: str, is_refused: bool) -> None:
    steps = [PlannedStep("bcache.set", {"cache_mode": mode}, {}, "")]
    assert bool(list(met_by(steps, host(BROKEN)))) is is_refused


def test_a_host_that_may_have_the_fault_is_refused_with_what_it_lacks() -> None:
    with pytest.raises(Refused, match="does not say enough"):
        refuse_faulty([NEW_BCACHE], host(KernelIdentity("5.15.0-91-generic")), NONE)
    with pytest.raises(Refused, match="The kernel of this host") as refused:
        refuse_faulty([NEW_BCACHE], host(KernelIdentity()), NONE)
    assert "Upgrade the agent" in refused.value.correction


def test_only_a_cached_volume_cannot_be_extended() -> None:
    kernel = KernelIdentity("6.2.16-20-pve")
    plain = make.lv(name="web")
    cached = make.lv(name="db", cache=make.dm_cache("pool"))
    facts = replace(make.facts(plain, cached), kernel=kernel)
    refuse_faulty([PlannedStep("volume.extend", {}, {"lv_uuid": plain.uuid}, "")], facts, NONE)
    with pytest.raises(Refused, match="lvextend-caches"):
        refuse_faulty([PlannedStep("volume.extend", {}, {"lv_uuid": cached.uuid}, "")], facts, NONE)


def test_slowness_refuses_nothing() -> None:
    slow = host(KernelIdentity("4.9.330", debian("4.9.330")))
    steps = [PlannedStep("cache.attach", {}, {}, "")]
    assert [present.fault.code for present in met_by(steps, slow)] == ["dm_cache_full"]
    refuse_faulty(steps, slow, NONE)


# --- The table -----------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.code)
def test_a_row_is_whole(fault: object) -> None:
    row = BY_CODE[fault.code]  # type: ignore[attr-defined]
    assert row.since < row.fixed and row.verbs and row.verbs <= VERBS.keys()
    assert row.effect in EFFECTS and row.technology in ("lvmcache", "bcache")
    assert re.match(r"https?://\S+$", row.link) and row.reason.endswith(".")
    assert all(row.begin_in(fix[:2]) < fix < row.fixed for fix in row.stable)
    assert all(begin < row.since for begin in row.taken)


def test_codes_are_unique() -> None:
    assert len(BY_CODE) == len(FAULTS)


def dotted(version: tuple[int, ...], program: str) -> str:
    parts = [str(part) for part in version]
    return ".".join([parts[0], parts[1].zfill(2), *parts[2:]] if program == "lvm" else parts)


def row_of(fault: KernelFault) -> str:
    """As docs/operators.md has it."""
    releases = (
        f"{dotted(fault.since, fault.program)} to before {dotted(fault.fixed, fault.program)}"
    )
    if fault.stable:
        releases += f"; fixed in {', '.join(dotted(fix, '') for fix in fault.stable)}"
    if fault.taken:
        releases += f"; from {', '.join(dotted(begin, '') for begin in fault.taken)} on too"
    for vendor, build in fault.vendors.items():
        releases += f"; {vendor} {f'from build {build[0]} on' if build else 'always'} without it"
    what = f"{'LVM' if fault.program == 'lvm' else 'kernel'} {releases}"
    does = "refused" if fault.is_refused else "warned of"
    return (
        f"| `{fault.code}` | {fault.technology} | {what} | {EFFECTS[fault.effect]}: {does} | "
        f"{fault.reason} | <{fault.link}> |"
    )


def test_the_document_for_operators_has_the_table() -> None:
    text = DOCUMENT.read_text()
    rows = [row_of(fault) for fault in FAULTS]
    assert [row for row in rows if row not in text] == []
    assert len(re.findall(r"(?m)^\| `[a-z0-9_]+` \| (?:lvmcache|bcache) \|", text)) == len(rows)
