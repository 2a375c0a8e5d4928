"""Loads for `tests.bench.forecast` that no model was made for: what a guest would do to a volume of
the lab. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

VOLUME_MIB: Final = 256


@dataclass(frozen=True, slots=True)
class VolumeLoad:
    """`command` runs until it is stopped, on DEVICE. Where there is a program that `prepares`, both
    run in a file system on the volume, the command with little memory, so that it reads there."""

    name: str
    command: Sequence[str]
    prepares: str = ""


def _fio(name: str, *options: str, jobs: Sequence[Sequence[str]] = ((),)) -> VolumeLoad:
    common = [
        "fio", "--filename=DEVICE", "--ioengine=libaio", "--direct=1", "--time_based",
        "--runtime=3600", "--norandommap", "--randrepeat=0", "--thread", "--output=/dev/null",
        "--bs=4k", "--iodepth=8",
    ]  # fmt: skip
    words = [*common, *options]
    for n, job in enumerate(jobs):
        words += [f"--name=job{n}", *job]
    return VolumeLoad(name, words)


def _read(distribution: str) -> VolumeLoad:
    return _fio(distribution, "--rw=randread", f"--random_distribution={distribution}")


SQLITE: Final = """
import random, sqlite3
db = sqlite3.connect("data.sqlite")
db.execute("pragma cache_size = -1024")
rows = db.execute("select max(id) from rows").fetchone()[0]
while True:
    for _ in range(20):
        row = 1 + int(rows * random.paretovariate(1.1) / 50) % rows
        db.execute("select body from rows where id = ?", (row,)).fetchone()
    db.execute("update rows set body = ? where id = ?", (random.randbytes(400), row))
    db.commit()
"""
SQLITE_ROWS: Final = """
import random, sqlite3
db = sqlite3.connect("data.sqlite")
db.execute("create table rows (id integer primary key, body blob)")
bodies = ((random.randbytes(400),) for _ in range(300_000))
db.executemany("insert into rows (body) values (?)", bodies)
db.commit()
"""
FILES: Final = """
import os, random
for folder in range(300):
    os.mkdir(str(folder))
    for file in range(40):
        with open(f"{folder}/{file}", "wb") as out:
            out.write(random.randbytes(random.choice([2000, 6000, 12_000, 30_000])))
os.sync()
"""
GREP: Final = """
import os, random
while True:
    # A few folders are searched again and again, the others now and then.
    folder = random.randrange(60 if random.random() < 0.7 else 300)
    for file in sorted(os.listdir(str(folder))):
        with open(f"{folder}/{file}", "rb") as opened:
            opened.read()
"""
MAIL: Final = """
import os, random
while True:
    box = min(int(random.expovariate(1 / 40)), 299)
    with open(f"{box}/{random.randrange(40)}", "r+b") as opened:
        if random.random() < 0.6:
            opened.read()
        else:
            opened.write(random.randbytes(2000))
            os.fsync(opened.fileno())
"""


def _python(name: str, program: str, prepares: str) -> VolumeLoad:
    return VolumeLoad(name, ["python3", "-I", "-c", program], prepares)


LOADS: Final = (
    *(_read(f"zipf:{theta}") for theta in (0.8, 1.0, 1.2, 1.4)),
    _read("random"),
    _read("pareto:0.3"),
    _fio(
        "scan-and-hot-set",
        jobs=(
            ("--rw=randread", "--size=48m"),
            ("--rw=read", "--bs=64k", "--iodepth=1", "--rate_iops=60"),
        ),
    ),
    _fio("mixed-zipf:1.1", "--rw=randrw", "--rwmixread=70", "--random_distribution=zipf:1.1"),
    _fio(
        "two-hot-sets",
        jobs=(
            ("--rw=randread", "--size=24m"),
            ("--rw=randread", "--offset=128m", "--size=96m", "--rate_iops=300"),
        ),
    ),
    _python("sqlite", SQLITE, SQLITE_ROWS),
    _python("grep", GREP, FILES),
    _python("mail", MAIL, FILES),
)
