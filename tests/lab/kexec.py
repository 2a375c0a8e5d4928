"""The machine restarts by itself, into a kernel and an initramfs of its own: qemu's `-kernel` and
`-initrd` are those of the image for good."""

from typing import Final

from tests.lab.vm import Lab

# kexec_file_load(2), for which the image has no program.
LOAD: Final = """
import ctypes, glob, os, sys
(kernel,) = glob.glob(sys.argv[1])
initrd = kernel.replace("vmlinuz", "initrd.img")
files = [os.open(path, os.O_RDONLY) for path in (kernel, initrd)]
with open("/proc/cmdline", "rb") as file:
    line = file.read().strip() + bytes(1)
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(320, *files, ctypes.c_ulong(len(line)), line, ctypes.c_ulong(0)):
    sys.exit(os.strerror(ctypes.get_errno()))
"""


def load(lab: Lab, kernels: str = "/boot/vmlinuz-*") -> None:
    """Load the one kernel that the pattern fits, with its initramfs, for the next restart."""
    lab.run(["python3", "-I", "-c", LOAD, kernels])


def restart(lab: Lab) -> None:
    """Restart as `systemctl kexec` does, into what is loaded."""
    lab.restart("systemctl kexec")
