"""Kinds of problems of hosts."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Final

from storage.problems.problem_kind import ProblemKind

REFUSES: Final = "Every change is refused."
GUESTS_GROUPS: Final = "A volume group of a guest can be taken for one of the host."
_unreached: Final = partial(
    ProblemKind,
    consequence="Data of the host is out of date, and no job can start there.",
    family="contact",
    # The collector asks every minute: one answer that fails is none yet.
    hold_seconds=90,
    resolve_seconds=120,
    listing="unreached_hosts",
)

HOST_KINDS: Final = (
    ProblemKind(
        "quarantined",
        "Host quarantined",
        "{count} hosts show a different SSH key from the accepted one",
        "Nothing is sent there: no samples arrive, and no job can start.",
        message="The host shows a different SSH key from the accepted one. Nothing is sent to it.",
        correction="Compare the fingerprints on the host page with the host's console.",
        family="trust",
        hold_seconds=0,
        way="keys",
        listing="unreached_hosts",
    ),
    ProblemKind(
        "twins",
        "Two hosts with one identity",
        "{count} hosts report the same machine ID or volume group as another host",
        "Nothing is sent there: a change by one host could be undone or destroyed by the other.",
        message="{message}. Nothing is sent to either host.",
        family="trust",
        hold_seconds=0,
        way="keys",
        listing="unreached_hosts",
    ),
    ProblemKind(
        "machine_changed",
        "Machine changed",
        "{count} hosts report a different machine id from the accepted one",
        "Nothing is sent there: another machine may be answering in place of the host.",
        message="{message}. Nothing is sent to it.",
        family="trust",
        hold_seconds=0,
        way="keys",
        listing="unreached_hosts",
    ),
    ProblemKind(
        "unverified",
        "SSH key to accept",
        "{count} new hosts are waiting for you to approve their SSH key",
        "The panel does not read a host before you accept its key.",
        message="New host waiting for you to approve its SSH key.",
        correction="Compare the fingerprint on the host page and accept it.",
        hold_seconds=0,
        resolve_seconds=0,
        way="keys",
        listing="new_hosts",
    ),
    _unreached(
        "silent",
        "Host silent",
        "{count} hosts are silent",
        message="Silent {span}.",
        correction="Check that the collector runs and that the host is up.",
        way="refresh",
    ),
    ProblemKind(
        "unsampled",
        "No samples",
        "{count} hosts answer, but send no samples",
        "Charts and hit rates have a gap, and advice is based on old data.",
        message="The host answers, but has sent no samples for {lasted}.",
        correction="Check that the collector runs: manage.py doctor",
        hold_seconds=120,
        way="refresh",
    ),
    ProblemKind(
        "change_unread",
        "Change not read",
        "The parts of {count} hosts changed, and their inventories cannot be read",
        "A disk, a leg of an array or a cache came, went or failed; pages show the state before.",
        message="Parts of the host changed {lasted} ago, and no inventory has been read since: "
        "{why}.",
        correction="On the host: cat /proc/mdstat; dmesg | tail -50. A failing disk blocks LVM's "
        "reports. Then refresh the host.",
        hold_seconds=30,
        way="refresh",
    ),
    ProblemKind(
        "inventory_unread",
        "Inventory not read",
        "The inventories of {count} hosts cannot be read",
        "Pages show volumes and disks as they were, and jobs may be refused.",
        message="Samples arrive, but no inventory has been read for {lasted}: {why}.",
        correction="Look for processes in state D on the host (a failing disk blocks LVM's "
        "reports), then refresh the host.",
        hold_seconds=120,
        way="refresh",
    ),
    _unreached(
        "unreachable",
        "Host not reached",
        "{count} hosts cannot be reached",
        way="refresh",
    ),
    _unreached(
        "no_answer",
        "Host does not answer in time",
        "{count} hosts do not answer in time",
    ),
    _unreached(
        "auth_refused",
        "Key refused",
        "{count} hosts refuse the panel's key",
    ),
    _unreached(
        "sshd_totp",
        "One-time code required",
        "{count} hosts require a one-time code",
    ),
    _unreached(
        "sudo_tty",
        "sudo needs a terminal",
        "sudo requires a terminal on {count} hosts",
    ),
    _unreached(
        "agent_missing",
        "Agent does not start",
        "The agent does not start on {count} hosts",
    ),
    _unreached(
        "bad_reply",
        "Invalid answer",
        "{count} hosts send invalid answers",
    ),
    ProblemKind(
        "kernel_changed",
        "Restart into another kernel",
        "{count} hosts restarted into another kernel",
        "Guests were down meanwhile, and caches may work differently from before.",
        message="Restarted into another kernel: {after}, before that {before}.",
        correction="If the restart was not planned, look at the end of the last boot: journalctl "
        "-b -1. History on the host's page compares the days before and after.",
        listed_for=timedelta(minutes=5),
        once_unlisted="A kernel change is reported for 5 minutes. Nothing was changed back.",
    ),
    ProblemKind(
        "kernel_regression",
        "Slower with another kernel",
        "A kernel gate found {count} hosts slower with another kernel",
        "Guests would wait longer for their disks with this kernel.",
        message="The kernel gate found {after} slower than {before}: {lost}.",
        correction="Stay with the earlier kernel, or gate a later one. A bisect on the page of the "
        "gate finds the kernel that brought it. You can also accept the slowdown there.",
        # A gate judges once, at its end.
        hold_seconds=0,
        resolve_seconds=0,
        way="kernels",
    ),
    ProblemKind(
        "kernel_slower",
        "I/O slower since a restart into another kernel",
        "I/O of {count} hosts has been slower since they restarted into another kernel",
        "Guests wait longer for their disks, with about as much to do as before.",
        message="Since {began}, with kernel {after}, an I/O takes {times} times as long as with "
        "{before} ({least} to {most}): {ms_after} on average, before that {ms_before}, in {pairs} "
        "with about as much I/O.",
        correction="Read the line of this restart in History on the host's page, which compares "
        "both sides. Start the host into the earlier kernel or a later one, or accept the loss "
        "there.",
        # It is judged once a day from the figures of days.
        hold_seconds=0,
        resolve_seconds=0,
        way="history",
        # The gate measured it with more care.
        follows=("kernel_regression",),
        follows_late=("kernel_regression",),
    ),
    ProblemKind(
        "boot_incomplete",
        "Restart incomplete",
        "{count} hosts did not recover completely after a restart",
        "Caches or their settings have been missing since then.",
    ),
    ProblemKind(
        "initramfs_stale",
        "Initramfs does not hide guests' disks",
        "The initramfs of {count} hosts does not hide guests' disks",
        "At a restart the host may start volume groups, arrays and bcache devices of guests.",
    ),
    ProblemKind(
        "heat_paused",
        "Heat not observed",
        "{count} hosts have stopped observing heat for an hour",
        "Forecasts of a cache's size have a gap.",
    ),
    ProblemKind(
        "no_boot_unit",
        "Boot unit missing",
        "The boot unit is missing on {count} hosts",
        "After a restart, bcache volumes and settings are not restored automatically.",
    ),
    ProblemKind(
        "other_panel",
        "Managed by another panel",
        "Another panel manages {count} hosts",
        "Every change from this panel is refused.",
    ),
    ProblemKind(
        "rival_panel",
        "Another panel tried a change",
        "Another panel tried to change {count} hosts",
        "The change was refused. An old panel or a restored copy may be running.",
    ),
    ProblemKind(
        "owner_broken",
        "Owner unreadable",
        "{count} hosts do not know which panel manages them",
        REFUSES,
    ),
    ProblemKind(
        "clock_off",
        "Clock wrong",
        "The clocks of {count} hosts are wrong",
        "Volumes cannot be retired there, and times in the host's journal and logs are wrong.",
        hold_seconds=120,
    ),
    _unreached(
        "host_key_changed",
        "SSH key changed",
        "{count} hosts show a different SSH key",
    ),
    _unreached(
        "not_active",
        "Host not in use",
        "{count} hosts are not in use",
    ),
    _unreached(
        "key_sealed",
        "Key of the host unreadable",
        "The panel cannot open its own key for {count} hosts",
    ),
    _unreached(
        "transport",
        "Not connected",
        "{count} hosts cannot be contacted",
    ),
    ProblemKind(
        "agent_old",
        "Agent old",
        "The agent of {count} hosts is older than the panel",
        "It may refuse what the panel asks for.",
    ),
    ProblemKind(
        "kernel_old",
        "Kernel too old",
        "Kernel is too old on {count} hosts",
        REFUSES,
    ),
    ProblemKind(
        "lvm_old",
        "LVM too old",
        "LVM is too old on {count} hosts",
        REFUSES,
    ),
    ProblemKind(
        "systemd_old",
        "systemd too old",
        "systemd is too old on {count} hosts",
        REFUSES,
    ),
    ProblemKind(
        "python_old",
        "Python too old",
        "Python is too old on {count} hosts",
        REFUSES,
    ),
    ProblemKind(
        "util_linux_old",
        "util-linux too old",
        "util-linux is too old on {count} hosts",
        REFUSES,
    ),
    ProblemKind(
        "no_lvm2",
        "LVM missing",
        "LVM is missing on {count} hosts",
        REFUSES,
    ),
    ProblemKind(
        "no_thin_provisioning_tools",
        "Cache tools missing",
        "thin-provisioning-tools are missing on {count} hosts",
        "Caches cannot be checked or repaired there.",
    ),
    ProblemKind(
        "no_systemd",
        "systemd missing",
        "systemd is missing on {count} hosts",
        REFUSES,
    ),
    ProblemKind(
        "no_dbus",
        "D-Bus missing",
        "D-Bus is missing on {count} hosts",
        REFUSES,
    ),
    ProblemKind(
        "policy_broken",
        "Policy unreadable",
        "The local policy of {count} hosts is unreadable",
        REFUSES,
    ),
    ProblemKind(
        "policy_kernel_name",
        "Disk named by its kernel name",
        "The local policy of {count} hosts names disks as the kernel does",
        "After a restart the name may be that of another disk.",
    ),
    ProblemKind(
        "policy_pv_missing",
        "Disk of the policy missing",
        "The local policy of {count} hosts names disks that are not there",
        "The policy may no longer match its intent.",
    ),
    ProblemKind(
        "policy_vg_missing",
        "Volume group of the policy missing",
        "The local policy of {count} hosts allows volume groups that are not there",
        "Nothing in them can be changed.",
    ),
    ProblemKind(
        "tunables_broken",
        "Settings of caches unreadable",
        "The stored settings of caches on {count} hosts are unreadable",
        "After a restart, settings are not restored.",
    ),
    ProblemKind(
        "bcache_unclear",
        "Unclear bcache volume",
        "{count} bcache volumes have no known owner",
        "The device may not start again after a restart.",
    ),
    ProblemKind(
        "bcache_not_noted",
        "bcache lost at the next restart",
        "{count} bcache devices would not start again after a restart",
        "After a restart their guests have no disk.",
    ),
    ProblemKind(
        "bcache_scanned",
        "LVM scans guest disks",
        "LVM looks into guests' bcache disks on {count} hosts",
        GUESTS_GROUPS,
    ),
    ProblemKind(
        "scan_lvs",
        "LVM looks into volumes",
        "LVM looks into volumes on {count} hosts",
        GUESTS_GROUPS,
    ),
    ProblemKind(
        "foreign_vg_on_guest_disk",
        "Guest's volume group seen",
        "LVM sees {count} volume groups of guests",
        "Groups of this name are not managed.",
    ),
    ProblemKind(
        "lvm_archive_large",
        "LVM's archive large",
        "LVM's archive fills the root of {count} hosts",
        REFUSES,
    ),
    ProblemKind(
        "inventory_large",
        "Too many volumes",
        "{count} hosts have nearly too many volumes",
        "Above the limit, nothing of a host can be read.",
    ),
    ProblemKind(
        "two_groups_named",
        "Two groups of one name",
        "{count} volume groups share their names",
        REFUSES,
    ),
    ProblemKind(
        "vg_unsound",
        "Volume group left out",
        "{count} volume groups are left out",
        "Nothing of them is shown or changed.",
    ),
    ProblemKind(
        "vg_shared",
        "Volume group shared",
        "Other machines may use {count} volume groups too",
        "The panel changes nothing there.",
    ),
    ProblemKind(
        "split_vgs",
        "SSD and HDD in different groups",
        "SSD and HDD of {count} hosts are in different volume groups",
        "Volumes on the HDDs can have no cache.",
    ),
    ProblemKind(
        "stuck",
        "Storage commands hang",
        "Storage commands hang on {count} hosts",
        "Jobs on these hosts cannot continue until the commands finish.",
        hold_seconds=120,
    ),
    ProblemKind(
        "kernel_data_loss",
        "Kernel that loses data of caches",
        "{count} hosts run a kernel that loses data of their caches",
        "What guests wrote may be lost at the next restart or error.",
        is_data_at_risk=True,
    ),
    ProblemKind(
        "kernel_unsure",
        "Kernel that may lose data",
        "{count} hosts report too little about their kernel",
        "It is unknown whether their kernel loses data of caches.",
    ),
)
