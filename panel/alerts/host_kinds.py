"""The words of each kind of problem of a host, and of what it has besides disks, caches and
volumes. Pure."""

from __future__ import annotations

from typing import Final

from panel.alerts.concern_kind import AWAY, NEW, ConcernKind

NOT_REACHED: Final = "Data of the host is out of date, and no job can start there."
REFUSES: Final = "These hosts refuse changes."
GUESTS_GROUPS: Final = "A volume group of a guest can be taken for one of the host."
HOST_KINDS: Final = {
    # Hosts
    "quarantined": ConcernKind(
        "SSH key changed",
        "{count} hosts show a different SSH key from the accepted one",
        "Nothing is sent there: no samples arrive, and no job can start.",
        AWAY,
    ),
    "twins": ConcernKind(
        "Two hosts with one identity",
        "{count} hosts report the same machine ID or volume group as another host",
        "Nothing is sent there: a change by one host could be undone or destroyed by the other.",
        AWAY,
    ),
    "machine_changed": ConcernKind(
        "Machine changed",
        "{count} hosts report a different machine id from the accepted one",
        "Nothing is sent there: another machine may be answering in place of the host.",
        AWAY,
    ),
    "unverified": ConcernKind(
        "SSH key to accept",
        "{count} new hosts are waiting for you to approve their SSH key",
        "The panel does not read a host before you accept its key.",
        NEW,
    ),
    "silent": ConcernKind("Host silent", "{count} hosts are silent", NOT_REACHED, AWAY),
    "unsampled": ConcernKind(
        "No samples",
        "{count} hosts answer, but send no samples",
        "Charts and hit rates have a gap, and advice is based on old data.",
    ),
    **{
        code: ConcernKind(name, many, NOT_REACHED, AWAY)
        for code, name, many in (
            ("unreachable", "Host not reached", "{count} hosts cannot be reached"),
            ("no_answer", "Host does not answer in time", "{count} hosts do not answer in time"),
            ("auth_refused", "Key refused", "{count} hosts refuse the panel's key"),
            ("sshd_totp", "One-time code required", "{count} hosts require a one-time code"),
            ("sudo_tty", "sudo needs a terminal", "sudo requires a terminal on {count} hosts"),
            ("agent_missing", "Agent does not start", "The agent does not start on {count} hosts"),
            ("bad_reply", "Invalid answer", "{count} hosts send invalid answers"),
        )
    },
    "kernel_changed": ConcernKind(
        "Restart into another kernel",
        "{count} hosts restarted into another kernel",
        "Guests were down meanwhile, and caches may work differently from before.",
    ),
    "boot_incomplete": ConcernKind(
        "Restart incomplete",
        "{count} hosts did not recover completely after a restart",
        "Caches or their settings have been missing since then.",
    ),
    "initramfs_stale": ConcernKind(
        "Initramfs does not hide guests' disks",
        "The initramfs of {count} hosts does not hide guests' disks",
        "At a restart the host may start volume groups, arrays and bcache devices of guests.",
    ),
    "no_boot_unit": ConcernKind(
        "Boot unit missing",
        "The boot unit is missing on {count} hosts",
        "After a restart, bcache volumes and settings are not restored automatically.",
    ),
    "other_panel": ConcernKind(
        "Managed by another panel",
        "Another panel manages {count} hosts",
        "These hosts refuse every change from this panel.",
    ),
    "rival_panel": ConcernKind(
        "Another panel tried a change",
        "Another panel tried to change {count} hosts",
        "The change was refused. An old panel or a restored copy may be running.",
    ),
    "owner_broken": ConcernKind(
        "Owner unreadable", "{count} hosts do not know which panel manages them", REFUSES
    ),
    "clock_off": ConcernKind(
        "Clock wrong",
        "The clocks of {count} hosts are wrong",
        "Volumes cannot be retired there, and times in the host's journal and logs are wrong.",
    ),
    "host_key_changed": ConcernKind(
        "SSH key changed", "{count} hosts show a different SSH key", NOT_REACHED, AWAY
    ),
    "not_active": ConcernKind("Host not in use", "{count} hosts are not in use", NOT_REACHED, AWAY),
    "key_sealed": ConcernKind(
        "Key of the host unreadable",
        "The panel cannot open its own key for {count} hosts",
        NOT_REACHED,
        AWAY,
    ),
    "transport": ConcernKind("Not connected", "{count} hosts cannot be asked", NOT_REACHED, AWAY),
    # What the host lacks, or has that is not sound
    "agent_old": ConcernKind(
        "Agent old",
        "The agent of {count} hosts is older than the panel",
        "It may refuse what the panel asks for.",
    ),
    **{
        f"{program}_old": ConcernKind(
            f"{title} too old", f"{title} is too old on {{count}} hosts", REFUSES
        )
        for program, title in (
            ("kernel", "Kernel"),
            ("lvm", "LVM"),
            ("systemd", "systemd"),
            ("python", "Python"),
            ("util_linux", "util-linux"),
        )
    },
    "no_lvm2": ConcernKind("LVM missing", "LVM is missing on {count} hosts", REFUSES),
    "no_thin_provisioning_tools": ConcernKind(
        "Cache tools missing",
        "thin-provisioning-tools are missing on {count} hosts",
        "Caches cannot be checked or repaired there.",
    ),
    "no_systemd": ConcernKind("systemd missing", "systemd is missing on {count} hosts", REFUSES),
    "no_dbus": ConcernKind("D-Bus missing", "D-Bus is missing on {count} hosts", REFUSES),
    "policy_broken": ConcernKind(
        "Policy unreadable", "The local policy of {count} hosts is unreadable", REFUSES
    ),
    "policy_kernel_name": ConcernKind(
        "Disk named by its kernel name",
        "The local policy of {count} hosts names disks as the kernel does",
        "After a restart the name may be that of another disk.",
    ),
    "policy_pv_missing": ConcernKind(
        "Disk of the policy missing",
        "The local policy of {count} hosts names disks that are not there",
        "The policy may no longer match its intent.",
    ),
    "policy_vg_missing": ConcernKind(
        "Volume group of the policy missing",
        "The local policy of {count} hosts allows volume groups that are not there",
        "Nothing in them can be changed.",
    ),
    "tunables_broken": ConcernKind(
        "Settings of caches unreadable",
        "The stored settings of caches on {count} hosts are unreadable",
        "After a restart, settings are not restored.",
    ),
    "bcache_unclear": ConcernKind(
        "Unclear bcache volume",
        "{count} bcache volumes have no known owner",
        "They may not come back after a restart.",
    ),
    "bcache_not_noted": ConcernKind(
        "bcache lost at the next restart",
        "{count} bcache devices would not come back after a restart",
        "After a restart their guests have no disk.",
    ),
    "bcache_scanned": ConcernKind(
        "LVM scans guest disks",
        "LVM looks into guests' bcache disks on {count} hosts",
        GUESTS_GROUPS,
    ),
    "scan_lvs": ConcernKind(
        "LVM looks into volumes", "LVM looks into volumes on {count} hosts", GUESTS_GROUPS
    ),
    "foreign_vg_on_guest_disk": ConcernKind(
        "Guest's volume group seen",
        "LVM sees {count} volume groups of guests",
        "Groups of this name are not managed.",
    ),
    "lvm_archive_large": ConcernKind(
        "LVM's archive large", "LVM's archive fills the root of {count} hosts", REFUSES
    ),
    "inventory_large": ConcernKind(
        "Too many volumes",
        "{count} hosts have nearly too many volumes",
        "Above the limit, nothing of a host can be read.",
    ),
    "two_groups_named": ConcernKind(
        "Two groups of one name", "{count} volume groups share their names", REFUSES
    ),
    "vg_unsound": ConcernKind(
        "Volume group left out",
        "{count} volume groups are left out",
        "Nothing of them is shown or changed.",
    ),
    "vg_shared": ConcernKind(
        "Volume group shared",
        "Other machines may use {count} volume groups too",
        "The panel changes nothing there.",
    ),
    "split_vgs": ConcernKind(
        "SSD and HDD in different groups",
        "SSD and HDD of {count} hosts are in different volume groups",
        "Volumes on the HDDs can have no cache.",
    ),
    "stuck": ConcernKind(
        "Storage commands hang",
        "Storage commands hang on {count} hosts",
        "Jobs on these hosts cannot continue until the commands finish.",
    ),
}
