"""The pictures of an invented fleet: what one lab host cannot show."""

from __future__ import annotations

from django.db.models import F

from storage.models import Benchmark, Volume
from tests import fleet
from tests.demo import walk
from tests.demo.camera import DOCUMENTS, DRAFTS, Still, opened, take_stills
from tests.demo.people import Login
from tests.demo.walk import Scene


def take(url: str, made: fleet.Fleet) -> None:
    """Write the pictures, and the frames that the walk begins with."""
    admin = Login("admin", fleet.ADMIN, fleet.PASSWORD)
    host = made.hosts[0]
    slow = _slowest(made)
    done = Benchmark.objects.filter(host=host).earliest("pk")
    overview, volume = "/?range=24h", f"/volumes/{slow.key}/"
    stills = {
        "overview": Still(overview, 1550),
        "map": Still(f"/hosts/{host.key}/disks"),
        "volume": Still(volume, 1282),
        "results": Still("/ledger/"),
        "benchmark": Still(f"/benchmarks/{done.key}/", 1140),
    }
    scenes = (
        Scene(overview, "The start page: what needs you, and each host by the hour", "#fleet-heat"),
        Scene(stills["map"].address, "A host as it is built: area is size, colour is latency"),
        Scene(volume, "Why is it slow? Which disk, who uses it, and what helps", "#slow-title"),
        Scene(f"{volume}curve", "What would SSD bring? Each size, before it is bought"),
        Scene(stills["benchmark"].address, "bcache or lvmcache? Measured, with how sure it is"),
        Scene("/capacity/", "How much SSD is sold, free, and until when it lasts"),
        Scene("/ledger/", "What was forecast of each order, and what was measured"),
        Scene("/audit/everything", "Who did what: one trail that cannot be changed"),
    )
    with opened() as browser:
        take_stills(browser, url, admin, stills, DOCUMENTS)
        walk.keep(walk.frames(browser, url, admin, scenes), DRAFTS / "walk")


def _slowest(made: fleet.Fleet) -> Volume:
    """Of the first host's, whose heat is counted."""
    here = Volume.objects.filter(placement__host=made.hosts[0], placement__until=None)
    reading = here.filter(latest_sample__reads__gt=0)
    each_ms = 1.0 * F("latest_sample__read_ms") / F("latest_sample__reads")
    return reading.order_by(each_ms.desc())[0]
