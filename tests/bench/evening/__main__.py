"""Plays the evening on a lab host and prints what it finds.

make benchmark-lab                # an hour; writes a page below docs
make benchmark-lab SIZE=small     # ten minutes; only prints it
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from datetime import UTC, datetime

from tests.bench.evening import page
from tests.bench.evening.matrix import SIZES, EveningSize, compared, published, six_runs, sweep
from tests.bench.evening.played import EveningHost, Played
from tests.lab.vm import Lab

SEED = 2017


def play(host: EveningHost, size: EveningSize) -> page.Evening:
    """Each run is printed as it ends. The runs of the comparison take turns (A B C C B A)."""

    def said(name: str, run: Played) -> Played:
        hits = run.summary.hit_rate
        rate = "" if hits is None else f"  {hits:.1%} of reads from the SSD"
        print(f"{name:32} {run.summary.iops:9,.0f} IOPS{rate}  {run.summary.ending}", flush=True)
        return run

    six = {name: said(name, host.run(cell, SEED)) for name, cell in six_runs(size).items()}
    swept = {
        share: said(f"data of {share:.0%} of the cache", host.run(cell, SEED))
        for share, cell in sweep(size).items()
    }
    cells = compared(size)
    runs: dict[str, list[Played]] = {name: [] for name in cells if size.repeats}
    for repeat in range(size.repeats):
        for name in cells if repeat % 2 == 0 else reversed(cells):
            runs[name].append(said(name, host.run(cells[name], SEED + repeat)))
    return page.Evening(size, six, swept, runs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="full")
    wanted = parser.parse_args().size
    with Lab("evening", say=warnings.warn) as lab:
        host = EveningHost(lab)
        evening = play(host, SIZES[wanted])
        host.world.close()
    now, known = datetime.now(UTC), published()
    if wanted == "full":
        print(page.write(evening, known, now))
    else:
        print(page.page(evening, known, now))
    figures = {name: run.summary.iops for name, run in evening.six.items()}
    print("BENCH " + json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
