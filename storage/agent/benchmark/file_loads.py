"""Loads on files instead of a device, in a process of their own: a tree of many small files as git
has them, and a database of SQLite. `agent.pyz benchmark-load` runs one, with options named as
fio's, and writes down what fio would: its JSON with bins, and a log of IOPS.

The file system is mounted in a mount namespace of this process: no other program of the host sees
it, and it is unmounted with the process, whatever ends that.
"""

from __future__ import annotations

import ctypes
import os
import random
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Callable

from .file_figures import FileFigures, write_figures
from .profiles import FILE_TREE, SQL

CLONE_NEWNS = 0x00020000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_NOATIME = 2, 4, 8, 1024
MS_REC, MS_PRIVATE = 16384, 1 << 18
FOLDER = "/run/tiercel/benchmark-files"
# The share of the file system that the files take.
FILLED_PERCENT = 50
PAGE_BYTES = 4096
# With what SQLite keeps beside it, a row fills a page.
ROW_FILL_BYTES = 3600
BATCH_ROWS = 1000
# Rows kept for each account, on average: a run of a day does not fill the volume.
HISTORY_ROWS = 16
TELLERS, BRANCHES = 10, 1
FILES_IN_FOLDER = 64
# Bytes of the 4,295 files of git's own tree (v2.39.0), at equal steps of rank. The last one is not
# the largest: so the mean is that of the tree, 9.5 KB.
SIZE_QUANTILES = (
    1, 70, 138, 227, 362, 501, 689, 844, 1076, 1403, 1739, 2168, 2654, 3382, 4400, 5777, 7720,
    11038, 17537, 29465, 199746,
)  # fmt: skip
READ, WRITE = 0, 1
Options = Mapping[str, str]


def load_command(words: Sequence[str]) -> int:
    """Runs a load; its exit code. What it failed by is its last line."""
    options = dict(_pair(word) for word in words)
    stop = threading.Event()
    signal.signal(signal.SIGINT, lambda number, frame: stop.set())
    mount = Mount(options["filename"], FOLDER)
    load = FileLoad(options, Path(FOLDER), mount.renewed, stop)
    try:
        enter_own_namespace()
        with mount.held():
            load.run()
    except (OSError, sqlite3.Error) as error:
        print(f"{options['profile']}: {error}", file=sys.stderr)
        return 1
    return 0


def _pair(word: str) -> tuple[str, str]:
    name, _, value = word[2:].partition("=")
    return name, value


def enter_own_namespace() -> None:
    """What is mounted from here on, only this process sees. Raises OSError."""
    libc = _libc()
    _demand(libc.unshare(CLONE_NEWNS), "unshare")
    _demand(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "/")


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _demand(answer: int, what: str) -> None:
    if answer != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


class Mount:
    """An ext4 on a scratch volume, at a folder of this process alone."""

    def __init__(self, device: str, folder: str) -> None:
        self._device = device
        self._folder = folder

    @contextmanager
    def held(self) -> Iterator[None]:
        """Raises OSError."""
        Path(self._folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        self._mount()
        try:
            yield
        finally:
            self._unmount()

    def renewed(self) -> None:
        """Nothing of its files is in memory any more. Raises OSError."""
        self._unmount()
        self._mount()

    def _mount(self) -> None:
        flags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME
        names = (self._device.encode(), self._folder.encode(), b"ext4")
        # Else a thread of the kernel would go on with what mkfs left for later.
        _demand(_libc().mount(*names, flags, b"noinit_itable"), self._device)

    def _unmount(self) -> None:
        _demand(_libc().umount2(self._folder.encode(), 0), self._folder)


class FileLoad:
    """`renew` empties the page cache of the folder."""

    def __init__(
        self,
        options: Options,
        folder: Path,
        renew: Callable[[], None],
        stop: threading.Event,
    ) -> None:
        self._options = options
        self._folder = folder
        self._renew = renew
        self._stop = stop
        self._seed = int(options["randseed"])
        self._bytes = int(options["size"]) * FILLED_PERCENT // 100
        self._streams = int(options.get("numjobs", "1"))
        self._errors: list[BaseException] = []

    def run(self) -> None:
        """Raises OSError or sqlite3.Error."""
        if self._options["name"] == "fill":
            self._fill_database()
            return
        self._begun = time.monotonic()
        self._end = self._begun + float(self._options["runtime"])
        every_ms = int(self._options.get("log_avg_msec", "500"))
        self._figures = [FileFigures(self._begun, every_ms) for _ in range(self._streams)]
        try:
            {FILE_TREE: self._tree, SQL: self._sql}[self._options["profile"]]()
        finally:
            write_figures(self._options, self._figures)

    def _is_over(self, end: float) -> bool:
        return self._stop.is_set() or bool(self._errors) or time.monotonic() >= end

    def _at_once(self, work: Callable[[int], None]) -> None:
        """Each stream in a thread of its own: a signal to the process reaches all of them."""

        def guarded(number: int) -> None:
            try:
                work(number)
            except BaseException as error:
                self._errors.append(error)

        threads = [threading.Thread(target=guarded, args=(n,)) for n in range(self._streams)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._errors:
            raise self._errors[0]

    def _chance(self, number: int) -> random.Random:
        """The same for the same seed: nothing here is secret."""
        return random.Random(self._seed + number)  # noqa: S311

    # A tree of files.

    def _tree(self) -> None:
        """Written in at most half of the time; what warmed the cache has written it already."""
        roots = [self._folder / f"tree-{number}" for number in range(self._streams)]
        if not roots[0].exists():
            half = (self._begun + self._end) / 2
            self._at_once(lambda number: self._write_tree(roots[number], number, half))
            self._demand_written()
            for figures in self._figures:
                figures.end(WRITE)
        files = [[path for path in root.glob("*/*")] for root in roots]
        while not self._is_over(self._end):
            self._renew()
            self._at_once(lambda number: self._read_tree(files[number], number))
        for figures in self._figures:
            figures.end(READ)

    def _demand_written(self) -> None:
        """Of this file system alone: others' data is not ours to flush."""
        handle = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _demand(_libc().syncfs(handle), str(self._folder))
        finally:
            os.close(handle)

    def _write_tree(self, root: Path, number: int, end: float) -> None:
        """As a clone does: one file after the other, and what is in memory is written behind."""
        chance = self._chance(number)
        figures, left, count = self._figures[number], self._bytes // self._streams, 0
        content = chance.getrandbits(8 * SIZE_QUANTILES[-1]).to_bytes(SIZE_QUANTILES[-1], "big")
        while left > 0 and not self._is_over(end):
            size = file_size(chance.random())
            folder = root / str(count // FILES_IN_FOLDER)
            if count % FILES_IN_FOLDER == 0:
                folder.mkdir(parents=True)
            with figures.timed(WRITE, size):
                (folder / str(count)).write_bytes(content[:size])
            left, count = left - size, count + 1

    def _read_tree(self, files: Sequence[Path], number: int) -> None:
        """As a search does in files that lie anywhere: each once, whole."""
        figures, order = self._figures[number], list(files)
        self._chance(number).shuffle(order)
        for path in order:
            if self._is_over(self._end):
                return
            with figures.timed(READ, path.stat().st_size):
                path.read_bytes()

    # A database.

    @property
    def _accounts(self) -> int:
        return max(1, self._bytes // PAGE_BYTES)

    def _connected(self) -> sqlite3.Connection:
        made = sqlite3.connect(
            str(self._folder / "accounts.db"), isolation_level=None, check_same_thread=False
        )
        made.execute("PRAGMA journal_mode=WAL")
        made.execute("PRAGMA synchronous=FULL")
        return made

    def _fill_database(self) -> None:
        with closing(self._connected()) as database:
            database.executescript(
                "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER, filler BLOB);"
                "CREATE TABLE tellers (id INTEGER PRIMARY KEY, balance INTEGER);"
                "CREATE TABLE branches (id INTEGER PRIMARY KEY, balance INTEGER);"
                "CREATE TABLE history (id INTEGER PRIMARY KEY, teller INTEGER, account INTEGER, "
                "delta INTEGER);"
            )
            database.executemany("INSERT INTO tellers VALUES (?, 0)", zip(range(TELLERS)))
            database.executemany("INSERT INTO branches VALUES (?, 0)", zip(range(BRANCHES)))
            for begin in range(0, self._accounts, BATCH_ROWS):
                if self._stop.is_set():
                    return
                rows = range(begin, min(self._accounts, begin + BATCH_ROWS))
                filled = ((row, os.urandom(ROW_FILL_BYTES)) for row in rows)
                database.execute("BEGIN")
                database.executemany("INSERT INTO accounts VALUES (?, 0, ?)", filled)
                database.execute("COMMIT")

    def _sql(self) -> None:
        turn = threading.Lock()
        self._at_once(lambda number: self._transactions(number, turn))
        for figures in self._figures:
            figures.end(WRITE)

    def _transactions(self, number: int, turn: threading.Lock) -> None:
        """SQLite has one writer at a time: the wait for one's turn counts."""
        chance, figures, done = self._chance(number), self._figures[number], 0
        with closing(self._connected()) as database:
            while not self._is_over(self._end):
                account = chance.randrange(self._accounts)
                row = (done * self._streams + number) % (HISTORY_ROWS * self._accounts)
                with figures.timed(WRITE, PAGE_BYTES), turn:
                    transact(database, account, chance, row)
                done += 1


def transact(database: sqlite3.Connection, account: int, chance: random.Random, row: int) -> None:
    """One of TPC-B, as pgbench has it; `row` is that of the history which it takes."""
    delta, teller = chance.randint(-5000, 5000), chance.randrange(TELLERS)
    add = "SET balance = balance + ? WHERE id = ?"
    database.execute("BEGIN IMMEDIATE")
    database.execute(f"UPDATE accounts {add}", (delta, account))
    database.execute("SELECT balance FROM accounts WHERE id = ?", (account,)).fetchone()
    database.execute(f"UPDATE tellers {add}", (delta, teller))
    database.execute(f"UPDATE branches {add}", (delta, 0))
    new = (row, teller, account, delta)
    database.execute("INSERT OR REPLACE INTO history VALUES (?, ?, ?, ?)", new)
    database.execute("COMMIT")


def file_size(rank: float) -> int:
    """The bytes of a file of that rank, from 0 to 1."""
    at = rank * (len(SIZE_QUANTILES) - 1)
    low = min(int(at), len(SIZE_QUANTILES) - 2)
    small, large = SIZE_QUANTILES[low], SIZE_QUANTILES[low + 1]
    return round(small + (large - small) * (at - low))
