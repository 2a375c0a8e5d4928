"""Which technology is asked of the look-up, and nowhere else."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.byte_sizes import GIB
from storage.planner.technologies.lookup import TECHNOLOGIES, of_cache, of_layout
from storage.planner.technologies.technology import Technology
from storage.planner.wish import CACHES, LAYOUTS, Wish

ROOT = Path(__file__).resolve().parents[4]
KEY = "aaaaaaaaaaaaaaaa"
NAMES = {"lvmcache", "bcache"}
CLASSES = {
    "LvmCache",
    "Bcache",
    "DmCache",
    "BcacheBacking",
    "DmCacheCounters",
    "BcacheCounters",
    "DmCacheCounts",
    "BcacheCounts",
}
ASKED_IN = {
    # What the host says, and what a wish names: the shapes themselves.
    "storage/inventory/facts.py",
    "storage/planner/wish.py",
    "storage/inventory/cache_counts.py",
    "storage/metrics/counters.py",
    # The faults of each.
    "storage/planner/kernel_faults.py",
    # The sentences and runbooks of a lost SSD, one function for each technology.
    "storage/health/lost_cache.py",
    # Differences, gauges and sums of the counters of each technology.
    "storage/metrics/rates/cache_delta.py",
    "storage/metrics/rates/legs.py",
    "storage/metrics/samples/aggregate.py",
    "storage/metrics/samples/load_rollup.py",
    # Which disks a volume's legs lie on.
    "storage/analysis/disk_users.py",
    # Their names in the labels of metrics.
    "panel/api/exposition/volume_metrics.py",
    # What of a cache's writes to its SSD is counted at all.
    "storage/analysis/ssd_writers.py",
    "panel/staff/hosts/host_volumes.py",
    "panel/staff/volumes/raw_counters.py",
    # How long to look at a cache before its fill says anything: bcache tells it seldom.
    "panel/portal/last_hour.py",
    # bcache made by hand on bare disks, where no volume is.
    "storage/inventory/device_tree.py",
    # A dm-cache on a volume: how a flush of lvmcache is paced, and that a move waits for its end.
    "jobs/engine/flush_rate.py",
    "storage/planner/growth.py",
    # What each does with the reads and writes that are forecast, and the sentences of which fits.
    "storage/analysis/heat_forecast.py",
    "storage/analysis/size_choice.py",
    # A dm-cache has promotions, and chunks of one size; bcache keeps what was read.
    "storage/analysis/host_rates.py",
    "storage/analysis/trace_outcome.py",
    "jobs/engine/heat_traces.py",
    # What a benchmark measures: its targets, their names and colours, and the published runs.
    "storage/benchmarks/matrix.py",
    "storage/planner/benchmark_wish.py",
    "panel/benchmarks/target_presets.py",
    "panel/benchmarks/published_reference.py",
    "panel/cli/benchmark_commands.py",
    "panel/api/framework/examples.py",
    # Words that no password may contain.
    "panel/accounts/authentication/passwords.py",
}


def sources() -> Iterator[Path]:
    for folder in ("storage", "jobs", "panel"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            is_own = name.startswith(("storage/agent/", "storage/planner/technologies/"))
            if not is_own and "migrations" not in path.parts:
                yield path


def asks(node: ast.AST) -> bool:
    """Whether the node tells one technology from another."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value in NAMES
    if isinstance(node, ast.Name):
        return node.id in CLASSES
    if isinstance(node, ast.Attribute):
        of_volume = getattr(node.value, "id", "") or getattr(node.value, "attr", "")
        is_cache = node.attr == "cache" and of_volume in ("lv", "other")
        return is_cache or node.attr in ("bcache", "BCACHE", "DM_CACHE")
    return False


def test_no_other_module_asks_which_technology() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for path in sources()
        if any(asks(node) for node in ast.walk(ast.parse(path.read_text())))
    }
    assert found == ASKED_IN


def test_no_template_asks_which_technology() -> None:
    templates = (ROOT / "templates").rglob("*.html")
    assert not [path for path in templates if any(name in path.read_text() for name in NAMES)]


def test_each_layout_and_each_kind_of_cache_has_one_technology() -> None:
    assert [each.layout for each in TECHNOLOGIES] == list(LAYOUTS)
    assert [each.name for each in TECHNOLOGIES] == list(CACHES)
    assert [of_layout(each.layout) for each in TECHNOLOGIES] == list(TECHNOLOGIES)


@pytest.mark.parametrize("technology", TECHNOLOGIES, ids=lambda each: each.name)
def test_a_technology_makes_caches_for_its_own_layout(technology: Technology) -> None:
    cache = technology.wish.new(KEY, technology.least_offered_bytes)
    assert of_cache(cache) is technology
    wish = Wish(GIB, "hdd", technology.layout, cache)
    assert Wish.from_json(wish.to_json()) == wish
    fields = {field.name for field in dataclasses.fields(technology.wish)}
    assert fields >= {setting.name for setting in technology.settings}


@pytest.mark.parametrize("technology", TECHNOLOGIES, ids=lambda each: each.name)
def test_another_cache_keeps_the_settings_and_takes_another_name(technology: Technology) -> None:
    old = technology.wish.new(KEY, technology.least_offered_bytes)
    changed = dataclasses.replace(old, **{each.name: 16 for each in technology.settings})
    new = changed.another("bbbbbbbbbbbbbbbb", GIB, "writeback")
    assert (new.size_bytes, new.mode) == (GIB, "writeback")
    assert new.name != changed.name
    names = [each.name for each in technology.settings]
    assert [getattr(new, name) for name in names] == [getattr(changed, name) for name in names]
