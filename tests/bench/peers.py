"""Prometheus and VictoriaMetrics with the same figures, on loopback, each in a folder of its own.

Prometheus is filled by `promtool` with blocks of two hours, as it writes them itself, and of older
times with long ones, as its compaction leaves them; VictoriaMetrics by its own import. Both get
the times of the samples whole seconds apart: that is what a scrape has, and what packs best.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlencode

import numpy as np

from tests.bench.packages import program
from tests.fleet.workload import Column
from tests.integration.until import until
from tests.lab.vm import free_port

BLOCK_SECONDS: Final = 7200
LONG_BLOCK: Final = "486h"
"""What two-hour blocks grow to by compaction: three times three times three …"""
MEMORY: Final = "1GiB"
STOP_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class VolumeFigures:
    """The figures of one volume: counters and gauges by name, at the same whole seconds."""

    volume: str
    host: str
    seconds: Column
    figures: Mapping[str, Column]

    @property
    def count(self) -> int:
        return len(self.seconds) * len(self.figures)


class Peer:
    """A server with an HTTP API like that of Prometheus. A context manager."""

    name = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._http: http.client.HTTPConnection | None = None
        self.data.mkdir(parents=True)

    def command(self) -> Sequence[str]:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", *self.command()],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={"GOMEMLIMIT": MEMORY, "PATH": "/usr/bin:/bin"},
            )
        until(f"{self.name} answers", self._answers, 60)

    def stop(self) -> None:
        process, self._process = self._process, None
        if self._http is not None:
            self._http.close()
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def ask(self, path: str, body: bytes | None = None, **query: object) -> bytes:
        """One request on the connection that is kept open; raises RuntimeError for an answer other
        than good."""
        if self._http is None:
            self._http = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        url = f"{path}?{urlencode(query)}" if query else path
        self._http.request("GET" if body is None else "POST", url, body)
        answer = self._http.getresponse()
        text = answer.read()
        if answer.status not in (200, 204):
            raise RuntimeError(f"{self.name} {url}: {answer.status} {text[:300]!r}")
        return text

    def points(self, expression: str, start: int, end: int, step: int) -> list[Any]:
        """The series of a range query, as a chart would draw them."""
        text = self.ask("/api/v1/query_range", query=expression, start=start, end=end, step=step)
        series: list[Any] = json.loads(text)["data"]["result"]
        return series

    def now(self, expression: str, at: int) -> list[Any]:
        """The answer to a query of one moment."""
        series: list[Any] = json.loads(self.ask("/api/v1/query", query=expression, time=at))[
            "data"
        ]["result"]
        return series

    def size(self) -> int:
        """Bytes of the data in files."""
        return sum(path.stat().st_size for path in self.data.rglob("*") if path.is_file())

    def _answers(self) -> bool:
        try:
            self.ask("/api/v1/query", query="1")
        except (OSError, http.client.HTTPException, RuntimeError):
            self._http = None
            return False
        return True


class Prometheus(Peer):
    name = "Prometheus"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._server, self._tool = (
            program("prometheus", "prometheus"),
            program("promtool", "prometheus"),
        )

    def command(self) -> Sequence[str]:
        (self.folder / "prometheus.yml").write_text("scrape_configs: []\n")
        return (
            str(self._server),
            f"--config.file={self.folder}/prometheus.yml",
            f"--storage.tsdb.path={self.data}",
            "--storage.tsdb.retention.time=10y",
            f"--web.listen-address=127.0.0.1:{self.port}",
            f"--web.console.templates={self.folder}",
            f"--web.console.libraries={self.folder}",
            "--log.level=error",
        )

    def fill(self, volumes: Sequence[VolumeFigures]) -> float:
        """Blocks of two hours, one promtool each; the seconds that promtool took."""
        first = min(int(each.seconds[0]) for each in volumes) // BLOCK_SECONDS
        last = max(int(each.seconds[-1]) for each in volumes) // BLOCK_SECONDS
        return sum(
            self._import(volumes, n * BLOCK_SECONDS, (n + 1) * BLOCK_SECONDS)
            for n in range(first, last + 1)
        )

    def fill_past(self, volumes: Sequence[VolumeFigures]) -> float:
        """The same in long blocks."""
        first, last = int(volumes[0].seconds[0]), int(volumes[0].seconds[-1])
        return self._import(volumes, first, last + 1, f"--max-block-duration={LONG_BLOCK}")

    def _import(
        self, volumes: Sequence[VolumeFigures], start: int, end: int, *options: str
    ) -> float:
        lines = self.folder / "openmetrics.txt"
        with lines.open("w") as file:
            for text in openmetrics(volumes, start, end):
                file.write(text)
            file.write("# EOF\n")
        began = time.monotonic()
        subprocess.run(
            [self._tool, "tsdb", "create-blocks-from", "--quiet", *options, "openmetrics", lines,
             self.data],
            check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        took = time.monotonic() - began
        lines.unlink()
        return took


class VictoriaMetrics(Peer):
    name = "VictoriaMetrics"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._server = program("victoria-metrics", "victoria-metrics")

    def command(self) -> Sequence[str]:
        return (
            str(self._server),
            f"-storageDataPath={self.data}",
            "-retentionPeriod=10y",
            f"-httpListenAddr=127.0.0.1:{self.port}",
            "-search.latencyOffset=0s",
            "-search.disableCache",
            "-memory.allowedBytes=1GiB",
            "-loggerLevel=ERROR",
        )

    def fill(self, volumes: Sequence[VolumeFigures]) -> float:
        """By JSON lines; the seconds that the server took, without those of writing JSON."""
        took = 0.0
        for each in volumes:
            body = "\n".join(_json_lines(each)).encode()
            began = time.monotonic()
            self.ask("/api/v1/import", body)
            took += time.monotonic() - began
        self.ask("/internal/force_flush")
        return took

    def merge(self) -> None:
        """As a day later: parts merged into one."""
        self.ask("/internal/force_merge")
        size = -1
        while size != self.size():
            size = self.size()
            time.sleep(3)


def openmetrics(volumes: Sequence[VolumeFigures], start: int, end: int) -> Iterator[str]:
    """Lines of the samples from `start` to before `end`, one family after the other."""
    names = sorted({name for each in volumes for name in each.figures})
    spans = [np.searchsorted(each.seconds, (start, end)) for each in volumes]
    for name in names:
        for each, (first, last) in zip(volumes, spans, strict=True):
            column = each.figures.get(name)
            if column is None or first == last:
                continue
            labels = f"tiercel_{_labelled(name, each)}"
            times = each.seconds[first:last].tolist()
            yield "".join(
                f"{labels} {value} {at}\n"
                for value, at in zip(column[first:last].tolist(), times, strict=True)
            )


def _labelled(name: str, of: VolumeFigures) -> str:
    """The figure's name with all labels; a histogram's has one already."""
    base, _, bound = name.partition("{")
    more = f",{bound.removesuffix('}')}" if bound else ""
    return f'{base}{{volume="{of.volume}",host="{of.host}"{more}}}'


def _json_lines(volume: VolumeFigures) -> Iterable[str]:
    times = json.dumps((volume.seconds * 1000).tolist())
    for name, column in volume.figures.items():
        base, _, bound = name.partition("{")
        metric = {"__name__": f"tiercel_{base}", "volume": volume.volume, "host": volume.host}
        if bound:
            metric["le"] = bound.split('"')[1]
        values = json.dumps(column.tolist())
        yield f'{{"metric":{json.dumps(metric)},"values":{values},"timestamps":{times}}}'
