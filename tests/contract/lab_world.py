"""The contract's world over the lab: the zipapp, sshd, sudo, a real kernel."""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from storage import agent_zipapp
from tests.contract.lab_caches import LabCaches
from tests.lab import guest, kexec
from tests.lab.disks import GIB, Disk
from tests.lab.distribution_hooks import BUILD_SECONDS
from tests.lab.shell import COMMAND_SECONDS
from tests.lab.vm import BOOT_TIMEOUT_SECONDS, Lab

ANOTHER = Disk("ssd2", "LAB-SSD", 6 * GIB, 1)
SCRIPT = Path(__file__).parents[2] / "jobs" / "hosts" / "enrol.sh"
AGENT = "/usr/lib/tiercel/agent.pyz"

# In one go, because each call costs; a test that changed nothing costs next to nothing.
RESET = """
set -u
umount /var/lib/tiercel/ops 2>/dev/null
rm -rf /var/lib/tiercel/ops/* /var/lib/tiercel/benchmarks /var/lib/tiercel/fences \\
    /var/lib/tiercel/owner.json
printf '%s' '{"vgs": ["vg0"], "fast_pvs": [], "slow_pvs": []}' > /etc/tiercel/agent.json
[ "$(vgs --noheadings -o lv_count vg0 | tr -d ' ')" = 0 ] && exit 0
systemctl stop 'guest-*' 'load-*' 'check-*' contract-lock 2>/dev/null
umount /mnt/contract 2>/dev/null
chmod 755 /usr/sbin/lvm /usr/sbin/make-bcache /usr/sbin/cache_check
for try in $(seq 100); do
    for each in /sys/block/dm-*/bcache/detach; do [ -e "$each" ] && echo 1 > "$each"; done
    for each in /sys/block/dm-*/bcache/stop; do
        state=$(cat "${each%/stop}/state" 2>/dev/null)
        [ "$state" = 'no cache' ] && echo 1 > "$each"
    done
    ls -d /sys/block/bcache* >/dev/null 2>&1 || break
    sleep 0.2
done
for each in /sys/fs/bcache/*-*/unregister; do [ -e "$each" ] && echo 1 > "$each"; done
for try in $(seq 100); do
    lvremove -q -q -y vg0 >/dev/null 2>&1
    [ "$(vgs --noheadings -o lv_count vg0 | tr -d ' ')" = 0 ] && exit 0
    sleep 0.2
done
exit 1
"""

# How much of its time the kernel may spend on copying a mirror, in percent.
THROTTLE = "/sys/module/dm_mirror/parameters/raid1_resync_throttle"

# What the scope of an operation runs.
AGAIN = """
import sys
sys.path.insert(0, sys.argv[1])
from tiercel_agent.operations.execute import execute
from tiercel_agent.realhost import RealHost
execute(RealHost(), sys.argv[2])
"""

SYNCED = """
import mmap, os, sys
device = os.open(sys.argv[1], os.O_WRONLY | os.O_DIRECT)
for n in range(int(sys.argv[2])):
    os.pwrite(device, mmap.mmap(-1, 4096), 4096 * n)
    os.fsync(device)
"""
SCATTERED = """
import mmap, os, random, sys
block, blocks = mmap.mmap(-1, 4096), int(sys.argv[2]) // 4096
device = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
for _ in range(int(sys.argv[3])):
    os.preadv(device, [block], random.randrange(blocks) * 4096)
"""

# As the unit tiercel-heat does. An emulated processor is so slow that the service would stop itself
# to spare it.
COUNTING = """
import sys
sys.path.insert(0, sys.argv[1])
from tiercel_agent.heat import budget, service
from tiercel_agent.realhost import RealHost
budget.CPU_SHARE = 1.0
service.serve_heat(RealHost())
"""
CHUNKS = """
import mmap, os, sys
block, device = mmap.mmap(-1, 4096), os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
for _ in range(int(sys.argv[2])):
    for chunk in sys.argv[3:]:
        os.preadv(device, [block], int(chunk) * 65536)
"""
# The service looks for what it is to count every 10 s.
SETTLED = "sleep 15"

BARE = """
pkill -u tiercel
userdel -f tiercel
systemctl disable -q --now tiercel-boot.timer tiercel-boot.service tiercel-heat.service
rm -rf /usr/lib/tiercel /etc/tiercel /etc/sudoers.d/tiercel /var/lib/tiercel \\
    /var/lib/tiercel-account /etc/systemd/system/tiercel-boot.* \\
    /etc/systemd/system/tiercel-heat.service /etc/udev/rules.d/6[19]-tiercel.rules
sed -i '/^# Begin of what/,/^# End of what Tiercel/d' /etc/lvm/lvmlocal.conf
"""
UNLIMITED = "/run/systemd/system/tiercel-heat.service.d/cpu.conf"
# In place of the panel's.
ADMIT = """
set -eu
keys=/var/lib/tiercel-account/.ssh/authorized_keys
line=$(sed 's|ssh-ed25519 .*|{key}|' $keys)
printf '%s\\n' "$line" > $keys
{agent} hide-guests
"""

WHOLE = """
mdadm --quiet --manage /dev/md0 --remove /dev/sdb
mdadm --quiet --manage /dev/md0 --add /dev/sdb
mdadm --quiet --wait /dev/md0 || true
"""
CROWD = """
long=$(printf 'x%.0s' $(seq 900))
vgchange -qq $(for number in $(seq 420); do echo {} $number$long; done) vg0
"""


class LabWorld:
    name = "lab"
    poll_seconds = 0.5

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.caches = LabCaches(lab)
        self._keys = tempfile.TemporaryDirectory()
        self._channel: subprocess.Popen[bytes] | None = None
        self.slow = self._named("hdd0"), self._named("hdd1")
        self._is_bare = True

    def close(self) -> None:
        self.hang_up()
        self._keys.cleanup()

    @property
    def key(self) -> Path:
        """The panel's private key for this host."""
        return Path(self._keys.name) / "panel"

    def install(self) -> None:
        """The agent with its account and policy, unless they are there: it takes half a minute."""
        if self._is_bare:
            self._install()
            self._is_bare = False

    def reset(self) -> None:
        """The agent, and an empty group."""
        self.install()
        self.lab.run(RESET)

    @contextmanager
    def bare(self) -> Iterator[Lab]:
        """The machine as it was before Tiercel came to it, for those who enrol it themselves."""
        if not self._is_bare:
            self.lab.run(RESET)
            self.hang_up()
            self.lab.run(BARE)
        try:
            yield self.lab
        finally:
            self._take_over()

    def answer(self, line: bytes) -> bytes:
        channel = self._dial()
        if channel.stdin is None or channel.stdout is None:
            raise AssertionError("ssh has no pipes")
        channel.stdin.write(line)
        channel.stdin.flush()
        reply = channel.stdout.readline()
        if not reply:
            channel.wait(10)
            said = channel.stderr.read().decode() if channel.stderr else ""
            raise AssertionError(f"the agent's channel ended: {said}")
        return reply

    def add_lv(
        self, name: str, size_bytes: int, pv: str | None = None, *, tags: Sequence[str] = ()
    ) -> None:
        path = f"/dev/{pv or self.slow[0]}"
        tagged = [word for tag in tags for word in ("--addtag", tag)]
        self.lab.run(["lvcreate", "-qy", "-n", name, "-L", f"{size_bytes}b", *tagged, "vg0", path])
        # It is open as long as udev looks what is on it.
        self.lab.run(["udevadm", "settle"])

    def take_lv(self, name: str, size_bytes: int, pv: str | None = None) -> None:
        self.add_lv(name, size_bytes, pv)

    def format(self, lv: str) -> None:
        self.lab.run(["mkfs.ext2", "-q", "-F", f"/dev/vg0/{lv}"])

    def unformat(self, lv: str) -> None:
        self.lab.run(["wipefs", "-qa", f"/dev/vg0/{lv}"])

    @contextmanager
    def allocation(self, policy: str, lv: str | None = None) -> Iterator[None]:
        program, name = ("vgchange", "vg0") if lv is None else ("lvchange", f"vg0/{lv}")
        self.lab.run([program, "-q", "-y", "--alloc", policy, name])
        try:
            yield
        finally:
            before = "normal" if lv is None else "inherit"
            self.lab.run([program, "-q", "-y", "--alloc", before, name])

    def fill(self) -> None:
        self.lab.run(["lvcreate", "-qy", "-n", "filler", "-l", "100%FREE", "vg0"])

    def scribble(self, lv: str) -> None:
        self.lab.run(
            f"tr '\\0' x < /dev/zero | dd of=/dev/vg0/{lv} bs=1M iflag=fullblock oflag=direct "
            "2>/dev/null || true"
        )

    def remove_lv(self, lv: str) -> None:
        self.lab.run(["lvremove", "-q", "-y", f"vg0/{lv}"])

    @contextmanager
    def barred(self, pv: str) -> Iterator[None]:
        self.lab.run(["pvchange", "-q", "-xn", f"/dev/{pv}"])
        try:
            yield
        finally:
            self.lab.run(["pvchange", "-q", "-xy", f"/dev/{pv}"])

    def interrupt_check(self, array: str) -> None:
        """Once an eighth is done: the kernel notes at each sixteenth how far it is."""
        self.lab.run(
            f"cd /sys/block/{array}/md; echo check > sync_action; until"
            ' read -r done _ total < sync_completed && test "${total:-0}" -gt 0 &&'
            " test $((done * 8)) -ge $total; do test $(cat sync_action) = check || exit 1; done;"
            " echo idle > sync_action; until test $(cat sync_action) = idle; do sleep 0.1; done"
        )

    @contextmanager
    def evacuating(self, pv: str, to: str) -> Iterator[None]:
        """In the background, and slowly: the kernel is asked to copy little at a time."""
        self.lab.run(f"modprobe dm_mirror; echo 1 > {THROTTLE}", check=False)
        self.lab.run(["pvmove", "-q", "-b", "-i", "60", f"/dev/{pv}", f"/dev/{to}"])
        try:
            yield
        finally:
            self.lab.run(["pvmove", "--abort", f"/dev/{pv}"])
            self.lab.run(f"echo 100 > {THROTTLE}", check=False)

    @contextmanager
    def snapshot(self, lv: str, name: str) -> Iterator[None]:
        self.lab.run(["lvcreate", "-qy", "-s", "-L", "32m", "-n", name, f"vg0/{lv}"])
        try:
            yield
        finally:
            self.lab.run(["lvremove", "-qy", f"vg0/{name}"])

    def reads_as_zeros(self, lv: str) -> bool:
        path = shlex.quote(f"/dev/vg0/{lv}")
        done = self.lab.run(
            f'cmp -n "$(blockdev --getsize64 {path})" {path} /dev/zero', check=False
        )
        return done.returncode == 0

    def device(self, lv: str) -> str:
        script = f"""
            d=$(basename "$(realpath /dev/vg0/{lv})")
            b=$(readlink "/sys/block/$d/bcache/dev") && echo "/dev/$(basename "$b")" ||
            echo /dev/vg0/{lv}
        """
        return self.lab.run(script).stdout.strip()

    @contextmanager
    def guest(self, name: str, lv: str) -> Iterator[int]:
        held = guest.start(self.lab, name, self.device(lv))
        try:
            yield held.pid
        finally:
            held.stop()

    def guest_sees(self, name: str) -> int:
        return guest.sees(self.lab, name)

    @contextmanager
    def mounted(self, lv: str) -> Iterator[str]:
        device = self.device(lv)
        self.lab.run(
            f"mkfs.ext2 -q -F {device}; mkdir -p /mnt/contract; mount {device} /mnt/contract"
        )
        try:
            yield "/mnt/contract"
        finally:
            self.lab.run("umount /mnt/contract")

    def make_dirty(self, lv: str) -> None:
        """dm-cache writes back as soon as it is idle for a moment. A threshold of 0, which lives
        until LVM loads the next table, forbids it; but then nothing new enters the cache either,
        so what is written must be in it already."""
        write = f"dd if=/dev/zero of={self.device(lv)} bs=64k count=128 oflag=direct 2>/dev/null"
        name = f"$(dmsetup info -c --noheadings -o name /dev/vg0/{lv})"
        self.lab.run(
            f"for pass in 1 2 3; do {write}; done; "
            f"dmsetup message {name} 0 migration_threshold 0 2>/dev/null; {write}"
        )

    def read(self, lv: str, size_bytes: int) -> None:
        count = size_bytes >> 12
        self.lab.run(
            f"for try in 1 2 3; do dd if={self.device(lv)} of=/dev/null bs=4k count={count} "
            "iflag=direct 2>/dev/null; done"
        )

    @contextmanager
    def counting(self) -> Iterator[None]:
        self.lab.shell.write("/run/counting.py", COUNTING)
        clean = f"--property=ExecStopPost={AGENT} clean-heat"
        unit = ["systemd-run", "--quiet", "--collect", "--unit=counting", clean]
        self.lab.run([*unit, "python3", "-I", "/run/counting.py", AGENT])
        self.lab.run(f"until [ -e /run/tiercel/heat.json ]; do sleep 1; done; {SETTLED}")
        try:
            yield
        finally:
            self.lab.run("systemctl stop counting")

    def read_counted(self, lv: str, chunks: Sequence[int], times: int) -> None:
        device, _ = self.caches.device(lv)
        numbers = " ".join(map(str, chunks))
        script = f"{SETTLED}; python3 - {device} {times} {numbers}; {SETTLED}"
        self.lab.run(script, stdin=CHUNKS)

    def write_synced(self, lv: str, count: int) -> None:
        self.lab.run(["python3", "-I", "-c", SYNCED, self.device(lv), str(count)])

    def pause(self) -> None:
        time.sleep(self.poll_seconds)

    def cache_accesses(self, lv: str) -> int:
        status = self.lab.run(["dmsetup", "status", "--noflush", f"/dev/vg0/{lv}"]).stdout.split()
        return sum(map(int, status[7:11]))

    def sectors_read(self, kname: str) -> int:
        return int(self.lab.run(["cat", f"/sys/block/{kname}/stat"]).stdout.split()[2])

    @contextmanager
    def clock_stepped(self, seconds: int) -> Iterator[None]:
        self.lab.run(f"date -s @$(($(date +%s) + {seconds}))")
        try:
            yield
        finally:
            self.lab.run(f"date -s @$(($(date +%s) - {seconds}))")

    @contextmanager
    def lost_member(self) -> Iterator[None]:
        self.lab.run(["mdadm", "--quiet", "--manage", "/dev/md0", "--fail", "/dev/sdb"])
        try:
            yield
        finally:
            self.lab.run(WHOLE, timeout_seconds=600)

    @contextmanager
    def crowded_metadata(self) -> Iterator[None]:
        self.lab.run(CROWD.format("--addtag"))
        try:
            yield
        finally:
            self.lab.run(CROWD.format("--deltag"))

    @contextmanager
    def suspended(self, lv: str) -> Iterator[None]:
        self.lab.run(["dmsetup", "suspend", f"/dev/vg0/{lv}"])
        try:
            yield
        finally:
            self.lab.run(["dmsetup", "resume", f"/dev/vg0/{lv}"])

    def read_scattered(self, lv: str, size_bytes: int, count: int) -> None:
        """Read `count` blocks of 4 KiB here and there in the beginning of a volume."""
        words = ["python3", "-I", "-c", SCATTERED, self.device(lv), str(size_bytes), str(count)]
        self.lab.run(words)

    def read_in_order(self, lv: str, size_bytes: int) -> None:
        """Read the beginning of a volume once, in blocks of 4 KiB."""
        size = ["bs=4k", f"count={size_bytes >> 12}"]
        words = [f"if={self.device(lv)}", "of=/dev/null", *size]
        self.lab.run(["dd", *words, "iflag=direct", "status=none"])

    def allow(self, vgs: Sequence[str], **more: int) -> None:
        policy = {"vgs": list(vgs), "fast_pvs": [], "slow_pvs": [], **more}
        self.lab.shell.write("/etc/tiercel/agent.json", json.dumps(policy))

    @contextmanager
    def vg_lock(self) -> Iterator[None]:
        """LVM's own lock file, held as a long lvconvert holds it."""
        self.lab.run(
            "systemd-run -q --unit=contract-lock --collect flock -x /run/lock/lvm/V_vg0 sleep 60; "
            "until ! flock -n -x /run/lock/lvm/V_vg0 true; do sleep 0.05; done"
        )
        try:
            yield
        finally:
            self.lab.run(["systemctl", "stop", "contract-lock"])

    @contextmanager
    def journal_full(self) -> Iterator[None]:
        self.lab.run(
            "mount -t tmpfs -o size=64k tmpfs /var/lib/tiercel/ops && "
            "{ cat /dev/zero > /var/lib/tiercel/ops/filler; } 2>/dev/null || true"
        )
        try:
            yield
        finally:
            self.lab.run(["umount", "/var/lib/tiercel/ops"])

    @contextmanager
    def held(self, program: str) -> Iterator[None]:
        """In its place: one that waits, and goes on as itself once the block is left."""
        path = f"/usr/sbin/{program}"
        waits = f'#!/bin/sh\nwhile [ -e /run/slow.on ]; do sleep 0.2; done\nexec {path} "$@"\n'
        self.lab.shell.write("/usr/local/bin/slow", waits, 0o755)
        self.lab.run(f"touch /run/slow.on; mount --bind /usr/local/bin/slow {path}")
        try:
            yield
        finally:
            self.lab.run(f"umount -l {path}; rm -f /run/slow.on")

    def slow_moves(self) -> None:
        """Nothing to do: for its first 20 seconds a move copies one piece a second."""

    def run_op(self, op: str) -> None:
        self.lab.run(["python3", "-I", "-c", AGAIN, AGENT, op])

    def forget_settings(self, lv: str) -> None:
        self.lab.run(
            f"disk=$(basename $(realpath /dev/vg0/{lv})); "
            "echo 4194304 > /sys/block/$disk/bcache/sequential_cutoff"
        )

    def begin_without_set(self, lv: str, cset_uuid: str) -> None:
        self.lab.run(
            f"disk=$(basename $(realpath /dev/vg0/{lv})); cset=/sys/fs/bcache/{cset_uuid}; "
            f"echo 1 > $cset/stop; while [ -e $cset ] || [ -e /sys/block/$disk/bcache ]; do "
            f"sleep 0.2; done; echo /dev/vg0/{lv} > /sys/fs/bcache/register_quiet"
        )

    def restart(self) -> None:
        self.hang_up()
        self.lab.power_cycle()

    def restart_by_itself(self) -> None:
        """With the initramfs that the machine has built, up to the end of its start."""
        self.hang_up()
        kexec.load(self.lab)
        kexec.restart(self.lab)
        waits = "systemctl is-system-running --wait; udevadm settle"
        self.lab.run(waits, timeout_seconds=BOOT_TIMEOUT_SECONDS, check=False)

    def install_initramfs(self) -> None:
        """What the enrolment does for the initramfs: a hook, and a build."""
        self._enrol("umask 022; install_initramfs", timeout_seconds=BUILD_SECONDS)

    def install_heat(self) -> None:
        """What the enrolment does for heat: a unit, which begins at once. An emulated processor
        takes thirty times as long for the same work."""
        self.allow(["vg0"], heat_cpu_percent=100)
        self.lab.run(["mkdir", "-p", UNLIMITED.rpartition("/")[0]])
        self.lab.shell.write(UNLIMITED, "[Service]\nCPUQuota=\n")
        self._enrol("umask 022; install_heat")

    def boot(self) -> tuple[int, str]:
        done = self.lab.run([AGENT, "boot"], check=False)
        return done.returncode, done.stdout + done.stderr

    def path_of(self, key: str) -> str | None:
        script = f"udevadm settle; [ -e /dev/tiercel/{key} ] && realpath /dev/tiercel/{key}"
        real = self.lab.run(script, check=False).stdout.strip()
        return real.rsplit("/", 1)[-1] or None

    @contextmanager
    def another_ssd(self) -> Iterator[tuple[str, str]]:
        with self.lab.plugged(ANOTHER) as name:
            yield name, ANOTHER.serial

    def wipe(self, disk: str) -> None:
        self.lab.run(["wipefs", "-qa", f"/dev/{disk}"])
        self.lab.run(["udevadm", "settle"])

    @contextmanager
    def without(self, tool: str) -> Iterator[None]:
        program = "/usr/sbin/lvm" if tool.startswith("lv") else f"/usr/sbin/{tool}"
        self.lab.run(["chmod", "644", program])
        try:
            yield
        finally:
            self.lab.run(["chmod", "755", program])

    def _named(self, serial: str) -> str:
        """The kernel's name of a disk in this boot."""
        script = f"lsblk -dno NAME,SERIAL | awk '$2 == \"{serial}\" {{ print $1 }}'"
        return self.lab.run(script).stdout.strip()

    def _take_over(self) -> None:
        """What a panel has enrolled is the same agent: to let our key in takes a moment."""
        self._is_bare = self.lab.run(["test", "-e", AGENT], check=False).returncode != 0
        if not self._is_bare:
            self.lab.run(ADMIT.format(key=self._public_key(), agent=AGENT))
            self.lab.run(RESET)

    def _public_key(self) -> str:
        """Of the tests, in the panel's stead."""
        if not self.key.exists():
            keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.key)]
            subprocess.run(keygen, check=True)
        return self.key.with_suffix(".pub").read_text().strip()

    def _install(self) -> None:
        """What the enrolment script does, without the panel's part of it."""
        self.lab.run("mkdir -p /usr/lib/tiercel /etc/tiercel")
        self.lab.shell.write(AGENT, agent_zipapp.build(), 0o755)
        self._enrol("umask 022; install_account; install_sudoers; install_policy; install_boot")
        self.lab.run([AGENT, "hide-guests"])

    def _enrol(self, steps: str, *, timeout_seconds: float = COMMAND_SECONDS) -> None:
        """Functions of the enrolment script."""
        values = {
            "URL": "", "AGENT_SHA256": "", "AGENT_PATH": AGENT, "ACCOUNT": "tiercel",
            "PUBLIC_KEY": self._public_key(), "MATCH_BLOCK": "",
        }  # fmt: skip
        # The script is one { … }, so that a download that was cut runs nothing.
        script = SCRIPT.read_text().split("\nmain() {")[0]
        for name, value in values.items():
            script = script.replace(f"@{name}@", shlex.quote(value))
        self.lab.run("sh -s", stdin=f"{script}\n{steps}\n}}\n", timeout_seconds=timeout_seconds)

    def _dial(self) -> subprocess.Popen[bytes]:
        if self._channel is None:
            self._channel = subprocess.Popen(
                [
                    "ssh", "-F", "none", "-T", "-p", str(self.lab.ssh_port),
                    "-i", str(self.key), "-o", "IdentitiesOnly=yes",
                    "-o", f"UserKnownHostsFile={self.lab.keys.known_hosts}",
                    "-o", "StrictHostKeyChecking=yes", "-o", "BatchMode=yes",
                    "-o", "LogLevel=ERROR", "tiercel@127.0.0.1",
                ],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
        return self._channel

    def hang_up(self) -> None:
        """End the agent's channel; the next request opens another."""
        channel, self._channel = self._channel, None
        if channel is None or channel.stdin is None:
            return
        channel.stdin.close()
        channel.wait(10)
        for pipe in (channel.stdout, channel.stderr):
            if pipe is not None:
                pipe.close()
