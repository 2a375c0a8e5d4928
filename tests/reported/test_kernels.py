"""Kernels of vendors, rebuilders and hands: which release each is built from, and what it has."""

from __future__ import annotations

from dataclasses import replace

import pytest

from storage.inventory.facts import KernelIdentity
from storage.planner.kernel_faults import BY_CODE, faults_of, read_release, standing_of
from tests import make

Base = tuple[int, int, int] | None
RELEASES: tuple[tuple[KernelIdentity, str, Base], ...] = (
    # Upstream releases that Ubuntu packs for trying: no Ubuntu kernel.
    (KernelIdentity("6.1.15-060115-generic", "#202303031234 SMP PREEMPT_DYNAMIC"),
     "vanilla", (6, 1, 15)),
    (KernelIdentity("5.15.2-051502-lowlatency"), "vanilla", (5, 15, 2)),
    (KernelIdentity("6.12.0-061200-generic"), "vanilla", (6, 12, 0)),
    (KernelIdentity("6.12.0-061200rc3-generic"), "vanilla", None),
    (KernelIdentity("6.9.3-76060903-generic", "#202405300957~1726766035~22.04~4092a0e SMP"),
     "vanilla", (6, 9, 3)),
    # SUSE and openSUSE, whatever the flavour.
    (KernelIdentity("5.14.21-150500.33.63-azure"), "suse", None),
    (KernelIdentity("5.3.18-150300.59.93-preempt"), "suse", None),
    (KernelIdentity("4.12.14-122.37-default"), "suse", None),
    (KernelIdentity("5.14.21-150400.15.11-rt"), "suse", None),
    (KernelIdentity("4.12.14-lp151.28.36-default"), "suse", None),
    (KernelIdentity("6.11.8-1-default"), "suse", None),
    (KernelIdentity("6.12.11-1-longterm"), "suse", None),
    # Vendors that keep the number of an old release.
    (KernelIdentity("3.10.0-1160.95.1.vz7.214.4"), "other", None),
    (KernelIdentity("5.10.0-216.0.0.115.oe2203sp4.x86_64"), "other", None),
    (KernelIdentity("4.19.91-27.an8.x86_64"), "other", None),
    (KernelIdentity("4.19.90-23.8.v2101.ky10.x86_64"), "other", None),
    (KernelIdentity("5.4.119-19.0009.tl3"), "other", None),
    (KernelIdentity("5.4.241-1-tlinux4-0017"), "other", None),
    (KernelIdentity("3.10.0-962.3.2.lve1.5.88.el7.x86_64"), "rhel", None),
    (KernelIdentity("4.18.0-553.rt7.342.el8_10.x86_64"), "rhel", None),
    (KernelIdentity("5.14.0-570.12.1.el9_6.x86_64+rt"), "rhel", None),
    # Vendors that follow the stable releases, and hands.
    (KernelIdentity("5.10.230-223.885.amzn2.x86_64"), "vanilla", (5, 10, 230)),
    (KernelIdentity("6.6.57.1-6.azl3"), "vanilla", (6, 6, 57)),
    (KernelIdentity("5.15.153.1-microsoft-standard-WSL2"), "vanilla", (5, 15, 153)),
    (KernelIdentity("6.6.31+rpt-rpi-v8"), "vanilla", (6, 6, 31)),
    (KernelIdentity("6.11.9-1-liquorix-amd64"), "vanilla", (6, 11, 9)),
    (KernelIdentity("6.6.58-gentoo-dist"), "vanilla", (6, 6, 58)),
    (KernelIdentity("6.6.30-rt30-1-rt"), "vanilla", (6, 6, 30)),
    (KernelIdentity("4.4.302+"), "vanilla", (4, 4, 302)),
    (KernelIdentity("6.12.58_1"), "vanilla", (6, 12, 58)),
    (KernelIdentity("6.1.0+"), "vanilla", None),
    # Distributions' own, beside them.
    (KernelIdentity("6.8.0-1018-azure", "#20-Ubuntu SMP"), "ubuntu", None),
    (KernelIdentity("5.15.0-1034-raspi", "#37-Ubuntu SMP"), "ubuntu", None),
    (KernelIdentity("6.9.7-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.9.7-1 (2024-06-27)"),
     "debian", (6, 9, 7)),
    (KernelIdentity("6.12.43+deb12-amd64"), "debian", (6, 12, 43)),
    (KernelIdentity("6.8.12-15-pve", "#1 SMP PREEMPT_DYNAMIC PMX 6.8.12-15"),
     "proxmox", (6, 8, 12)),
)  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "vendor", "base"), RELEASES, ids=lambda each: getattr(each, "release", "")
)
def test_a_kernel_is_the_release_that_it_is_built_from(
    kernel: KernelIdentity, vendor: str, base: Base
) -> None:
    release = read_release(kernel)
    assert (release.vendor, release.base) == (vendor, base)


@pytest.mark.parametrize("release", ["3.10.0-1160.95.1.vz7.214.4", "4.19.90-23.8.v2101.ky10.x86_64",
                                     "5.14.21-150500.33.63-azure"])  # fmt: skip
def test_the_faults_of_a_kernel_with_fixes_of_later_ones_are_unknown(release: str) -> None:
    facts = replace(make.facts(), kernel=KernelIdentity(release))
    assert not any(present.is_sure for present in faults_of(facts))


@pytest.mark.parametrize(
    ("code", "release", "standing"),
    [
        # A fault that stable releases took over from a later series, and the fix of it.
        ("bcache_gc_oops", "6.1.38", "clear"),
        ("bcache_gc_oops", "6.1.39", "affected"),
        ("bcache_gc_oops", "6.1.65", "affected"),
        ("bcache_gc_oops", "6.1.66", "clear"),
        ("bcache_gc_oops", "5.15.120", "clear"),
        ("bcache_gc_oops", "5.15.121", "affected"),
        ("bcache_gc_oops", "5.15.142", "clear"),
        ("bcache_gc_oops", "6.3.13", "clear"),
        ("bcache_gc_oops", "6.4.16", "affected"),
        ("bcache_gc_oops", "6.5.13-6-pve", "affected"),
        ("bcache_gc_oops", "6.6.5", "clear"),
        ("bcache_gc_oops", "6.7.0", "clear"),
        ("bcache_gc_oops", "6.1.0-custom", "possible"),
        ("bcache_gc_oops", "6.3.0-custom", "clear"),
        ("bcache_gc_oops", "5.14.0-503.el9.x86_64", "clear"),
        ("bcache_slow_heap", "6.10.14", "clear"),
        ("bcache_slow_heap", "6.11.0-29-generic", "affected"),
        ("bcache_slow_heap", "6.12.35+deb13-amd64", "affected"),
        ("bcache_slow_heap", "6.12.38+deb13-amd64", "clear"),
        ("bcache_slow_heap", "6.14.8-2-pve", "affected"),
        ("bcache_slow_heap", "6.15.5-arch1-1", "clear"),
        ("bcache_slow_heap", "6.16.1", "clear"),
        ("bcache_slow_heap", "6.12.0-55.9.1.el10_0.x86_64", "possible"),
    ],
)
def test_a_fault_begins_and_ends_in_each_series(code: str, release: str, standing: str) -> None:
    assert standing_of(BY_CODE[code], read_release(KernelIdentity(release))) == standing
