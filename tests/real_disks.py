"""What smartctl says of real disks, out of the sources of other projects' packages.

None of it is in this repository: `python -m tests.debian` fetches the sources. libblockdev's, of
Debian, has documents of `smartctl --json`, and the raw SMART sectors of further disks, which the
real smartctl of Debian plays back. pySMART's, of PyPI, has reports of `smartctl --all` as text.
"""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from panel.operations.local_services import CHECKOUT
from tests import smart_text
from tests.bench.packages import NotHere, program
from tests.lab.mirror import read_source_lines

FOLDER: Final = CHECKOUT / "var" / "disks"
SUITE: Final = "trixie"
"""The first Debian whose libblockdev knows smartctl."""
PYSMART: Final = CHECKOUT / "requirements-disks.txt"
NO_DISK: Final = ("unsupported_0", "megaraid_vd_0")
"""Reports of RAID controllers."""


@dataclass(frozen=True, slots=True)
class RealDisk:
    """`document` is what smartctl printed as JSON, or would have; `text` is its report where that
    is what there is."""

    source: str
    document: dict[str, Any]
    text: str = ""

    @property
    def model(self) -> str:
        """As the disk itself writes it."""
        return str(self.document.get("model_name") or self.document.get("scsi_model_name"))


def fetch() -> None:
    """Fetch the sources that are not here. Raises NotHere where that cannot be done."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    _smartctl()
    if not _archives("pysmart"):
        print("Fetching reports of real disks (pySMART's source)", flush=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        options = ["--no-deps", "--no-binary", ":all:", "--require-hashes", "-r", str(PYSMART)]
        subprocess.run([*pip, *options, "--dest", str(FOLDER)], check=True)
    if not _archives("libblockdev"):
        print("Fetching reports of real disks (libblockdev's source)", flush=True)
        _fetch_debian_source("libblockdev")


def _archives(name: str) -> list[Path]:
    return sorted(FOLDER.glob(f"{name}[-_]*.tar.*"))


def _fetch_debian_source(name: str) -> None:
    """With lists of its own, so that the machine's stay as they are."""
    if shutil.which("apt-get") is None:
        raise NotHere("sources of Debian's packages are fetched by Debian's apt-get")
    lines = [line.replace("deb ", "deb-src ", 1) for line in read_source_lines(SUITE)]
    state = FOLDER / "apt"
    (state / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (state / "sources.list").write_text("".join(f"{line}\n" for line in lines))
    options = {
        "Dir::Etc::SourceList": state / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": state / "lists",
        "Acquire::Retries": 3,
    }
    apt = ["apt-get", "-qq", *(f"-o{key}={value}" for key, value in options.items())]
    for command in (["update"], ["source", "--download-only", "--tar-only", name]):
        done = subprocess.run(
            [*apt, *command],
            cwd=FOLDER,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise NotHere(f"apt-get does not fetch the source of {name}: {done.stderr.strip()}")


def disks() -> Iterator[RealDisk]:
    """All of them. Raises NotHere where a source was not fetched, or Debian's smartctl."""
    for path, content in _files("libblockdev", "/tests/smart_dumps/"):
        # Those with a number are broken on purpose.
        if path.suffix == ".json" and not path.stem[0].isdigit():
            yield RealDisk(path.stem, json.loads(content))
        elif path.suffix == ".bin":
            yield RealDisk(path.stem, played_back(content))
    for path, content in _files("pysmart", "/tests/dataset/"):
        of_disk = path.name.startswith("_") and "--all" in path.name
        if of_disk and path.parent.name not in NO_DISK:
            text = content.decode("utf-8", "replace")
            yield RealDisk(path.parent.name, smart_text.document(text), text)


def _files(name: str, below: str) -> Iterator[tuple[Path, bytes]]:
    archives = _archives(name)
    if not archives:
        raise NotHere(f"{name}'s source was not fetched: python -m tests.debian")
    with tarfile.open(archives[-1]) as archive:
        for member in sorted(archive.getmembers(), key=lambda each: each.name):
            content = archive.extractfile(member) if below in member.name else None
            if content is not None:
                yield Path(member.name), content.read()


def played_back(blob: bytes) -> dict[str, Any]:
    """What the real smartctl makes of a disk's raw sectors. It reads back what its own
    `-r ataioctl,2` prints (atacmds.cpp, parsed_ata_device)."""
    sectors = _sectors(blob)
    is_good = any(sectors["SMST"])
    dump = "".join(
        (
            _call("IDENTIFY DEVICE", 0, sectors["IDFY"]),
            _call("SMART STATUS CHECK", 0 if is_good else 1),
            _call("SMART READ ATTRIBUTE VALUES", 0, sectors["SMDT"]),
            _call("SMART READ ATTRIBUTE THRESHOLDS", 0, sectors["SMTH"]),
        )
    )
    smartctl = _smartctl()
    database = smartctl.parents[1] / "share" / "smartmontools" / "drivedb.h"
    done = subprocess.run(
        [str(smartctl), "-B", str(database), "--json", "-i", "-H", "-A", "-"],
        input=dump,
        capture_output=True,
        text=True,
        check=False,
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def _smartctl() -> Path:
    """Unpacked by `fetch`: tests that run beside each other must not unpack it at once."""
    return program("smartctl", "smartmontools", "sbin")


def _sectors(blob: bytes) -> dict[str, bytes]:
    """libatasmart's format (skdump --save): a tag of four letters, a big-endian length, data."""
    found: dict[str, bytes] = {}
    at = 0
    while at < len(blob):
        tag, length = struct.unpack_from(">4sI", blob, at)
        found[tag.decode()] = blob[at + 8 : at + 8 + length]
        at += 8 + length
    return found


def _call(command: str, status: int, data: bytes = b"") -> str:
    head = f"REPORT-IOCTL: Device=/dev/sda Command={command}"
    lines = [head, f"{head} returned {status}"]
    if data:
        rows = (
            f"{at:03}-{at + 15:03}: {data[at : at + 16].hex(' ')}  |{'.' * 16}|"
            for at in range(0, len(data), 16)
        )
        title = f"===== [{command}] DATA"
        lines += [f"{title} START (BASE-16) =====", *rows, f"{title} END (512 Bytes) ====="]
    return "\n".join((*lines, ""))
