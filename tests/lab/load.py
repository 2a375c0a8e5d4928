"""The I/O a customer's guest would make, played by programs inside the lab."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.vm import Lab

CHECKER = Path(__file__).with_name("checker.py")
SECTOR_BYTES = 512
CHECKED_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Load:
    """A load in its own systemd unit in the lab."""

    lab: Lab
    unit: str
    output: str

    def is_running(self) -> bool:
        """Tell whether the program still runs."""
        return (
            self.lab.run(["systemctl", "is-active", "-q", self.unit], check=False).returncode == 0
        )

    def stop(self) -> dict[str, Any]:
        """Stop it (SIGINT, so that it reports) and return its JSON report."""
        self.lab.run(["systemctl", "stop", self.unit], check=False)
        return self.report()

    def report(self) -> dict[str, Any]:
        """Return the JSON report the program wrote when it ended."""
        text = self.lab.run(["cat", self.output]).stdout
        # fio writes "terminating on signal" into the same file before its JSON.
        report: dict[str, Any] = json.loads(text[text.index("{") :])
        return report


def read_hot(
    lab: Lab,
    name: str,
    device: str,
    *,
    runtime_seconds: int = 3600,
    limit_iops: int = 0,
    first_mib: int = 0,
    at_random: bool = False,
) -> Load:
    """Start bounded random reads on `device`: 4 KiB, zipf 1.2, depth 8, O_DIRECT.

    The reads repeat for `runtime_seconds` at most, no faster than `limit_iops` (0 = as fast as
    they come), over the first `first_mib` of the device (0 = all of it); `at_random` moments, as
    those of many guests. The report is fio's JSON.
    """
    limit = [f"--rate_iops={limit_iops}"] if limit_iops else []
    limit += ["--rate_process=poisson"] if at_random else []
    limit += [f"--size={first_mib}m"] if first_mib else []
    output = f"/run/load-{name}.json"
    return _start(
        lab,
        f"load-{name}",
        output,
        [
            "fio", f"--name={name}", f"--filename={device}", "--rw=randread", "--bs=4k",
            "--random_distribution=zipf:1.2", "--ioengine=libaio", "--iodepth=8", "--direct=1",
            "--time_based", f"--runtime={runtime_seconds}", "--norandommap", "--randrepeat=0",
            "--thread", "--gtod_reduce=1", "--output-format=json", f"--output={output}",
            *limit,
        ],
    )  # fmt: skip


def write(
    lab: Lab, name: str, device: str, *, limit_iops: int = 500, runtime_seconds: int = 600
) -> Load:
    """Start bounded random writes on all of `device`: 4 KiB, O_DIRECT. The report is fio's JSON."""
    output = f"/run/load-{name}.json"
    return _start(
        lab,
        f"load-{name}",
        output,
        [
            "fio", f"--name={name}", f"--filename={device}", "--rw=randwrite", "--bs=4k",
            "--ioengine=libaio", "--iodepth=8", "--direct=1", f"--rate_iops={limit_iops}",
            "--time_based", f"--runtime={runtime_seconds}", "--norandommap", "--randrepeat=0",
            "--thread", "--gtod_reduce=1", "--output-format=json", f"--output={output}",
        ],
    )  # fmt: skip


def verify(
    lab: Lab,
    name: str,
    device: str,
    *,
    offset_bytes: int = 0,
    size_bytes: int = 16 << 20,
    runtime_seconds: int = 3600,
) -> Load:
    """Start a load on a region of `device` that checks all it reads against what it wrote.

    Writes the whole region first, so whatever lay there is lost. The report is
    {"blocks", "writes", "reads", "errors", "first_error"}; a final pass reads every block.
    """
    program = "/run/lab-checker.py"
    lab.shell.write(program, CHECKER.read_bytes())
    output = f"/run/check-{name}.json"
    return _start(
        lab,
        f"check-{name}",
        output,
        ["python3", program, device, str(offset_bytes), str(size_bytes),
         str(runtime_seconds), output],
    )  # fmt: skip


@contextmanager
def losing_nothing(lab: Lab, name: str, device: str) -> Iterator[None]:
    """A `verify` of the first MiB of `device` until the end of the block, which finds no error."""
    work = verify(lab, name, device, size_bytes=CHECKED_BYTES)
    wait_until_reading(lab, device)
    yield
    assert work.is_running(), work.report()
    report = work.stop()
    assert (report["errors"], report["first_error"]) == (0, ""), report
    assert report["reads"] > 0 and report["writes"] > 0


def reads_per_second(lab: Lab, device: str, seconds: float = 10) -> float:
    """Return the read IOPS of `device` from the lab kernel's counters over `seconds`.

    Source: the first field of /sys/block/*/stat (Documentation/block/stat.rst).
    """
    # One command reads the counter and the clock on both sides: no network delay in the interval.
    done = lab.run(
        f"s=/sys/class/block/$(basename $(realpath {device}))/stat; a=$(awk '{{print $1}}' $s); "
        f"t=$(cut -d' ' -f1 /proc/uptime); sleep {seconds}; "
        "b=$(awk '{print $1}' $s); u=$(cut -d' ' -f1 /proc/uptime); echo $a $b $t $u"
    )
    first, last, began, ended = (float(word) for word in done.stdout.split())
    return (last - first) / (ended - began)


def wait_until_reading(lab: Lab, device: str, timeout_seconds: float = 300) -> None:
    """Return once reads reach `device`; TimeoutError when none does in time."""
    deadline = time.monotonic() + timeout_seconds
    while reads_per_second(lab, device, 1) == 0:
        if time.monotonic() > deadline:
            raise TimeoutError(f"no reads on {device} in {timeout_seconds} s")


def _start(lab: Lab, unit: str, output: str, command: list[str]) -> Load:
    lab.run(["rm", "-f", output])
    lab.run(
        [
            "systemd-run", "--quiet", f"--unit={unit}", "--collect", "--service-type=exec",
            # A load is a guest's, not the host's: what the host does must not wait behind it.
            "--property=Nice=19", "--property=KillSignal=SIGINT", "--property=TimeoutStopSec=60",
            "--", *command,
        ]
    )  # fmt: skip
    return Load(lab, f"{unit}.service", output)
