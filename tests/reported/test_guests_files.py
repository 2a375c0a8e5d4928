"""Which volumes the files of hypervisors and the kernel's mounts name, in all their spellings."""

from __future__ import annotations

from typing import Any

import pytest

from storage.agent.guests import guest_configs
from tests.reported.host import ReportedHost, Seen, uuid_of


def paths(**files: str) -> list[str]:
    machine: Any = ReportedHost(files=files)
    return [guest.path for guest in guest_configs.configured(machine)]


XEN = {
    "phy:tank/mail-disk,xvda1,w": "/dev/tank/mail-disk",
    "phy:/dev/tank/mail,xvda,w": "/dev/tank/mail",
    "tank/mail,raw,xvda,rw": "/dev/tank/mail",
    "tank/mail, , xvda , rw": "/dev/tank/mail",
    "vdev=xvda,format=raw,target=tank/mail": "/dev/tank/mail",
    "format=raw, vdev=xvda, access=rw, target=/dev/tank/mail": "/dev/tank/mail",
    "tap:aio:/dev/tank/mail,xvda,w": "/dev/tank/mail",
    "mapper/tank-mail,,hda": "/dev/mapper/tank-mail",
    "format=raw,vdev=hdc,devtype=cdrom": None,
    "script=block-lvm,vdev=xvda,target=tank/mail": "/dev/tank/mail",
    "backendtype=phy, vdev=xvda, target=/dev/tank/mail": "/dev/tank/mail",
    "/dev/tank/mail,raw,xvda,w,direct-io-safe": "/dev/tank/mail",
}


@pytest.mark.parametrize("entry", XEN)
def test_a_disk_of_xen_is_below_dev_unless_its_target_begins_with_a_slash(entry: str) -> None:
    config = f"name = 'mail'  # ours\nmemory = '512'\ndisk = [\n  '{entry}',\n]\nvif = ['']\n"
    found = paths(**{"/etc/xen/mail.cfg": config})
    assert found == ([XEN[entry]] if XEN[entry] else [])


@pytest.mark.parametrize(
    "disk",
    [
        "disk = 'phy:/dev/tank/mail,xvda,w'",
        "disk += [ 'phy:/dev/tank/mail,xvda,w' ]",
        "disk = [ '/dev/tank/mail,raw,xvda,w' ]; vif = [ '' ]",
        "disk = [ '/dev/tank/mail,raw,xvda,w' ]\r",
        "disk = [\n  # 'phy:/dev/tank/old,xvda,w',\n  'phy:/dev/tank/mail,xvda,w', ]",
        "kernel = '/dev/tank/mail'",
        "device_model_args = ['-drive', 'file=/dev/tank/mail,if=virtio']",
    ],
)
def test_a_device_of_xen_stands_in_many_ways(disk: str) -> None:
    assert paths(**{"/etc/xen/mail.cfg": f"name = 'mail'\n{disk}\n"}) == ["/dev/tank/mail"]


@pytest.mark.parametrize("file", ["/etc/xen/mail", "/etc/xen/auto/10-mail", "/etc/xen/vm/mail.hvm"])
def test_a_file_of_xen_has_any_name(file: str) -> None:
    found = paths(**{file: 'name = "mail"\ndisk = ["tank/a,raw,xvda", "tank/b,raw,xvdb"]\n'})
    assert found == ["/dev/tank/a", "/dev/tank/b"]


STORAGE = """\
lvmthin: fast
\tthinpool data
\tvgname tank

lvm: san
\tvgname common
\tshared yes

customlvm: odd
\tvgname third
"""
PROXMOX = {
    "scsi0: fast:vm-7-disk-0,iothread=1,size=32G": "/dev/tank/vm-7-disk-0",
    "scsi0: file=fast:vm-7-disk-0,size=32G": "/dev/tank/vm-7-disk-0",
    "nvme0: odd:vm-7-disk-0": "/dev/third/vm-7-disk-0",
    "ide2: fast:vm-7-cloudinit,media=cdrom": "/dev/tank/vm-7-cloudinit",
    "vmstate: fast:vm-7-state-suspend-2026-01-01": "/dev/tank/vm-7-state-suspend-2026-01-01",
    "args: -drive file=/dev/tank/extra,if=virtio,format=raw -cpu host": "/dev/tank/extra",
    "args: -drive 'file=/dev/tank/extra,if=virtio'": "/dev/tank/extra",
    "mp0: volume=fast:vm-7-disk-1,mp=/data": "/dev/tank/vm-7-disk-1",
    "mp0: mp=/data,volume=fast:vm-7-disk-1": "/dev/tank/vm-7-disk-1",
    "dev0: path=/dev/tank/extra,uid=0": "/dev/tank/extra",
    "lxc.mount.entry: /dev/tank/extra mnt none bind,create=file": "/dev/tank/extra",
    "scsi0:\tfast:vm-7-disk-0,size=1G": "/dev/tank/vm-7-disk-0",
    "unused3: fast:vm-7-disk-9": "/dev/tank/vm-7-disk-9",
    "efidisk0: fast:vm-7-disk-1,efitype=4m": "/dev/tank/vm-7-disk-1",
    "tpmstate0: fast:vm-7-disk-2,version=v2.0": "/dev/tank/vm-7-disk-2",
    "args: -blockdev driver=host_device,filename=/dev/tank/extra,node-name=x": "/dev/tank/extra",
    "lxc.rootfs.path: lvm:/dev/tank/extra": "/dev/tank/extra",
    "virtio1: /dev/mapper/tank-extra,size=1G": "/dev/mapper/tank-extra",
    "description: was on /dev/tank/extra": None,
    "#scsi0: fast:vm-7-disk-0": None,
    "boot: order=scsi0;net0": None,
    "ide2: local:iso/debian.iso,media=cdrom": None,
}


@pytest.mark.parametrize("line", PROXMOX)
@pytest.mark.parametrize("section", ["", "[PENDING]\n", "[before-upgrade]\n"])
def test_every_volume_that_a_file_of_proxmox_names_is_in_use(line: str, section: str) -> None:
    config = f"name: web\n{section}{line}\n"
    found = paths(**{"/etc/pve/storage.cfg": STORAGE, "/etc/pve/qemu-server/7.conf": config})
    assert found == ([PROXMOX[line]] if PROXMOX[line] else [])


LIBVIRT = {
    "<devices><disk><source dev='&#47;dev/tank/web'/></disk></devices>": True,
    "<devices><disk type='file'><source file='/dev/tank/web'/></disk></devices>": True,
    "<devices><disk><mirror><source dev='/dev/tank/web'/></mirror></disk></devices>": True,
    "<devices><filesystem type='block'><source dev='/dev/tank/web'/></filesystem></devices>": True,
    "<devices><hostdev><source><block>/dev/tank/web</block></source></hostdev></devices>": True,
    "<devices><lease><target path='/dev/tank/web'/></lease></devices>": True,
    "<os><nvram>/dev/tank/web</nvram></os>": True,
    "<os><kernel>/dev/tank/web</kernel></os>": True,
    "<q:commandline xmlns:q='q'><q:arg value='file=/dev/tank/web'/></q:commandline>": True,
    "<!-- <disk><source dev='/dev/tank/web'/></disk> -->": False,
}


@pytest.mark.parametrize("element", LIBVIRT)
@pytest.mark.parametrize("driver", ["qemu", "libxl", "lxc"])
def test_every_device_that_a_domain_of_libvirt_names_is_in_use(element: str, driver: str) -> None:
    document = f"<domain><name>web</name>{element}</domain>"
    found = paths(**{f"/etc/libvirt/{driver}/web.xml": document})
    assert found == (["/dev/tank/web"] if LIBVIRT[element] else [])


def test_a_device_that_a_container_names_is_in_use() -> None:
    config = "lxc.rootfs.path = lvm:/dev/tank/web\n# /dev/tank/old\nlxc.tty.max = 4\n"
    assert paths(**{"/var/lib/lxc/web/config": config}) == ["/dev/tank/web"]


def test_a_storage_of_any_type_may_be_shared() -> None:
    assert guest_configs.proxmox_shared(STORAGE) == {"common"}


def volumes(*names: str, files: dict[str, str], active: bool = True) -> Seen:
    return Seen(
        policy={"vgs": ["tank"]},
        disks=[{"name": "sda"}],
        lvm={
            "vgs": [{"name": "tank"}],
            "pvs": [{"name": "/dev/sda", "vg": "tank"}],
            "lvs": [{"vg": "tank", "name": name, "active": active, "devices": ["/dev/sda(0)"]}
                    for name in names],
        },
        files=files,
    )  # fmt: skip


@pytest.mark.parametrize(
    "path",
    [
        "tank/my-disk",
        "/dev//tank/my-disk",
        "/dev/mapper/tank-my--disk",
        "/dev/disk/by-id/dm-name-tank-my--disk",
        f"/dev/disk/by-id/dm-uuid-LVM-{uuid_of('tank')}{uuid_of('tank/my-disk')}",
    ],
)
def test_a_volume_of_a_guest_that_is_off_is_known_by_each_of_its_names(path: str) -> None:
    plain = path if "LVM-" not in path else path.split("LVM-")[0] + "LVM-" + "".join(
        (uuid_of("tank") + uuid_of("tank/my-disk")).split("-")
    )  # fmt: skip
    config = f'name = "mail"\ndisk = ["{plain},raw,xvda"]\n'
    seen = volumes("my-disk", active=False, files={"/etc/xen/mail.cfg": config})
    assert [user.name for user in seen.lv("my-disk").users] == ["mail"]


def mountinfo(*lines: str) -> dict[str, str]:
    return {"/proc/self/mountinfo": "".join(f"{line}\n" for line in lines)}


def test_a_mount_point_is_named_as_people_know_it() -> None:
    seen = volumes("files", files=mountinfo(
        r"30 25 253:0 / /srv/our\040files\040-\040new\134a rw shared:2 - ext4 /dev/tank/files rw"
    ))  # fmt: skip
    assert [user.name for user in seen.lv("files").users] == ["/srv/our files - new\\a"]


def btrfs(*names: str) -> dict[str, str]:
    return {f"/sys/fs/btrfs/0a1b2c3d-0000-4000-8000-0000000000ff/devices/{name}/size": "1"
            for name in names}  # fmt: skip


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("25 1 0:22 / / rw - btrfs /dev/mapper/tank-a rw,subvol=/@", btrfs("dm-0", "dm-1")),
        ("25 1 0:22 / / rw - bcachefs /dev/tank/a:/dev/tank/b rw", {}),
        ("25 1 253:0 / /var rw - xfs /dev/tank/a rw,logdev=/dev/mapper/tank-b,noquota", {}),
    ],
)
def test_every_device_of_a_file_system_of_the_host_is_the_hosts_own(
    line: str, files: dict[str, str]
) -> None:
    seen = volumes("a", "b", "c", files={**mountinfo(line), **files})
    assert seen.lv("a").hosts_own and seen.lv("b").hosts_own
    assert not seen.lv("c").hosts_own


def test_every_device_of_another_file_system_is_in_use() -> None:
    line = "30 25 0:23 / /srv rw - btrfs /dev/tank/a rw"
    seen = volumes("a", "b", files={**mountinfo(line), **btrfs("dm-0", "dm-1")})
    for name in ("a", "b"):
        assert [(user.kind, user.name) for user in seen.lv(name).users] == [("mount", "/srv")]
        assert not seen.lv(name).hosts_own
