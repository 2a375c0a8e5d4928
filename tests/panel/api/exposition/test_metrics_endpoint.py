"""`/metrics`: what it says, in Prometheus' own format, to whom, and that the documents agree."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from jobs.models import LifeSign
from panel.api.exposition import metrics_endpoint
from panel.api.exposition.fleet_metrics import FLEET_FAMILIES
from panel.api.exposition.metric_text import labels_text
from panel.api.exposition.metrics_endpoint import exposition
from panel.api.exposition.volume_metrics import (
    CACHE_INFO,
    INFO,
    LATENCY,
    MOST_SERIES,
    VOLUME_FAMILIES,
)
from storage.byte_sizes import GIB
from storage.metrics.counters import (
    LATENCY_BOUNDS_NS,
    DiskCounters,
    DmCacheCounters,
    Latency,
    VolumeCounters,
    encode_counters,
)
from storage.models import HeatDay, HeatTrace, HostOutline, LatestSample, TraceState
from tests import make
from tests.bench.packages import NotHere
from tests.bench.packages import program as program_of
from tests.panel.api.asking import problem, program
from tests.panel.cast import party
from tests.panel.deliveries.alerts.alert_messages import alert
from tests.scene import HOSTILE, Scene, end, job, scene

pytestmark = pytest.mark.django_db
DOCS = Path(__file__).resolve().parents[4] / "docs"
DASHBOARD = json.loads((DOCS / "metrics" / "grafana-dashboard.json").read_text())
RULES = yaml.safe_load((DOCS / "metrics" / "prometheus-rules.yml").read_text())
FAMILIES = (
    *(family for family, _ in VOLUME_FAMILIES),
    INFO,
    CACHE_INFO,
    LATENCY,
    *FLEET_FAMILIES,
)


def test_a_scrape_has_no_version_and_is_packed_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """No program asks for the same scrape twice, and megabytes are packed for each."""
    levels = []
    pack = gzip.compress
    monkeypatch.setattr(
        gzip, "compress", lambda data, level: levels.append(level) or pack(data, level)
    )
    admin = make.staff_user(staff_role="admin")
    asking = program(admin, "metrics:read")
    headers = asking.headers(**{"Accept-Encoding": "gzip;q=1.0,*;q=0.1", "If-None-Match": "*"})
    answer = Client().get("/metrics", headers=headers)
    assert (answer.status_code, "ETag" in answer) == (200, False)
    assert answer["Content-Encoding"] == "gzip"
    assert gzip.decompress(answer.content).startswith(b"# HELP")
    assert levels == [1]


def test_no_family_names_another_unit_than_its_help() -> None:
    for family in FAMILIES:
        if "_seconds" in family.name:
            assert not re.search(r"\b(hours|minutes|days|ms)\b", family.help), family.name


def disk(**fields: int) -> DiskCounters:
    return DiskCounters(**{**dict.fromkeys(DiskCounters._fields, 0), **fields})


def sampled(there: Scene, **fields: Any) -> LatestSample:
    """A fresh sample of a volume with an lvmcache."""
    cache = DmCacheCounters(
        chunk_sectors=128, used=10, total=100, metadata_used=1, metadata_total=8,
        read_hits=750, read_misses=250, write_hits=40, write_misses=60, demotions=3, promotions=5,
        dirty=2, mode="writeback", policy="smq", read_only=False, needs_check=False, failed=False,
        origin=disk(reads=250, read_sectors=2000), cdata=disk(reads=750, read_sectors=6000),
    )  # fmt: skip
    latency = Latency(LATENCY_BOUNDS_NS, tuple(range(1, len(LATENCY_BOUNDS_NS) + 2)))
    counters = VolumeCounters(
        lv_uuid="x", kname="dm-3", suspended=False, cache=cache, bcache=None, latency=latency,
        disk=disk(reads=1000, read_sectors=8000, read_ms=4000, writes=100, write_ms=1500),
    )  # fmt: skip
    defaults: dict[str, Any] = {
        "host": there.host,
        "at": timezone.now(),
        "boot_id": "b",
        "boottime_ns": 1,
        "counters": encode_counters(counters),
        "technology": 1,
        "cache_mode": "writeback",
        "cache_size_bytes": GIB,
        "used_bytes": GIB // 10,
        "dirty_bytes": 4096,
    }
    return LatestSample.objects.create(volume=there.volume, **{**defaults, **fields})


def samples() -> dict[str, float]:
    """Every sample by its name and labels, read by Prometheus' own client."""
    return {
        f"{each.name}{labels_text(dict(sorted(each.labels.items())))}": each.value
        for family in text_string_to_metric_families(exposition())
        for each in family.samples
    }


def full_house(name: str = "stor-1") -> Scene:
    """Something in every family."""
    there = scene(host={"name": name, "hello": {"kernel": "6.1.0", "agent": "1"}})
    sampled(there)
    HostOutline.objects.create(host=there.host, fast_total_bytes=10, fast_free_bytes=5)
    make.physical_disk(
        there.host,
        health={
            **{"protocol": "NVMe", "model": "X", "serial": "S", "passed": True},
            **{"temperature_celsius": 40, "power_on_hours": 2, "nvme": {"percentage_used": 7}},
        },
    )
    alert(there.host)
    end(job(there))
    job(there)
    return there


def test_a_volume_has_the_counters_of_its_kernel() -> None:
    there = scene(host={"name": "stor-1"}, label="web12 disk")
    sampled(there)
    seen = samples()
    own = f'{{host="stor-1",volume="{there.volume.key}"}}'
    assert seen[f"tiercel_volume_reads_total{own}"] == 1000
    assert seen[f"tiercel_volume_slow_read_limit_seconds{own}"] == 0.02
    assert seen[f"tiercel_volume_read_bytes_total{own}"] == 8000 * 512
    assert seen[f"tiercel_volume_read_seconds_total{own}"] == 4
    assert seen[f"tiercel_cache_read_hits_total{own}"] == 750
    assert seen[f"tiercel_cache_slow_read_bytes_total{own}"] == 2000 * 512
    assert seen[f"tiercel_cache_fast_read_bytes_total{own}"] == 6000 * 512
    assert seen[f"tiercel_cache_size_bytes{own}"] == GIB
    assert seen[f"tiercel_volume_latency_seconds_count{own}"] == sum(range(1, 15))
    bucket = 'tiercel_volume_latency_seconds_bucket{host="stor-1",le="0.0005",volume="'
    assert seen[f'{bucket}{there.volume.key}"}}'] == 1 + 2 + 3
    (about,) = [name for name in seen if name.startswith("tiercel_volume_info")]
    assert 'label="web12 disk"' in about


def test_the_limit_of_slow_reads_is_that_of_pages_and_alerts() -> None:
    there = scene(host={"name": "stor-1", "slow_read_ms": 8})
    sampled(there)
    own = f'{{host="stor-1",volume="{there.volume.key}"}}'
    assert samples()[f"tiercel_volume_slow_read_limit_seconds{own}"] == 0.008


def test_without_a_fresh_sample_there_is_a_gap_and_no_flat_line() -> None:
    there = scene(host={"name": "stor-1"})
    sampled(there, at=timezone.now() - timedelta(hours=1))
    seen = samples()
    assert [name for name in seen if name.startswith("tiercel_volume_reads_total")] == []
    assert [name for name in seen if name.startswith("tiercel_cache")] == []
    assert [name for name in seen if name.startswith("tiercel_volume_sample_timestamp")]


def test_counters_of_another_version_of_the_panel_are_left_out() -> None:
    sampled(scene(), counters={"other": 1})
    assert not [name for name in samples() if name.startswith("tiercel_volume_reads_total")]


def test_a_volume_has_forty_series_at_most() -> None:
    there = full_house()
    text = exposition()
    own = Counter(re.findall(rf'(?m)^(\w+)\{{.*volume="{there.volume.key}"', text))
    assert 30 < own.total() <= MOST_SERIES


def test_hosts_disks_jobs_alerts_and_messages_are_counted() -> None:
    there = full_house()
    seen = samples()
    assert seen['tiercel_host_up{host="stor-1"}'] == 1
    assert seen['tiercel_host_fast_free_bytes{host="stor-1"}'] == 5
    assert seen['tiercel_host_alerts_open{host="stor-1",severity="at_risk"}'] == 1
    assert seen['tiercel_alerts_open{severity="warning"}'] == 0
    assert seen['tiercel_jobs{state="queued"}'] == 1
    assert seen['tiercel_jobs_ended_total{kind="add-cache",result="succeeded"}'] == 1
    assert seen['tiercel_messages_waiting{kind="webhook"}'] == 0
    (wear,) = [value for name, value in seen.items() if name.startswith("tiercel_disk_wear_ratio")]
    assert wear == 0.07
    there.host.error = {"code": "no_contact"}
    there.host.save()
    assert samples()['tiercel_host_up{host="stor-1"}'] == 0


def test_what_people_type_stays_a_label() -> None:
    hostile = f'{HOSTILE}"}} 1\nfake_total{{x="\\'
    sampled(scene(label=hostile))
    names = {family.name for family in text_string_to_metric_families(exposition())}
    assert not [name for name in names if not name.startswith("tiercel_")]
    assert any(
        each.labels.get("label") == hostile
        for family in text_string_to_metric_families(exposition())
        for each in family.samples
    )


def test_no_family_stands_twice_and_every_one_explains_itself() -> None:
    full_house()
    heads = Counter(re.findall(r"(?m)^# TYPE (\w+) ", exposition()))
    assert set(heads.values()) == {1}
    assert set(heads) <= {family.name for family in FAMILIES}
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


def ask(text: str = "", **headers: str) -> Any:
    given = {"Authorization": f"Bearer {text}"} if text else {}
    return Client().get("/metrics", headers={**given, **headers})


def test_a_token_of_its_own_scope_opens_it_and_nothing_else() -> None:
    person = make.staff_user(staff_role="read_only")
    scraping = program(person, "metrics:read")
    answer = ask(scraping.text, Accept="application/openmetrics-text;q=0.9,*/*;q=0.1")
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert answer.content.startswith(b"# HELP tiercel_build_info")
    problem(scraping.get("/volumes/"), 403, "insufficient_scope")
    problem(ask(program(person, "read").text), 403, "insufficient_scope")
    problem(ask(), 401, "not_authenticated")


def test_a_customer_has_no_metrics() -> None:
    acme = party("acme")
    assert ask(acme.owners_token).status_code == 404


def test_one_scrape_at_a_time() -> None:
    scraping = program(make.staff_user(), "metrics:read")
    with metrics_endpoint.ONE_AT_A_TIME.one("other"):
        answer = ask(scraping.text)
    problem(answer, 429, "too_many_requests")
    assert answer["Retry-After"] == "1"


def test_heat_has_its_hosts_by_state_its_time_and_its_traces() -> None:
    there = scene(host={"name": "stor-1", "hello": {"heat": {"state": "running"}}})
    scene(host={"name": "stor-2", "hello": {"heat": {"state": "off"}}})
    scene(host={"name": "stor-3"})
    other = make.volume()
    make.placement(other, there.host)
    today = timezone.now().date()
    for volume, days, hours in ((there.volume, 0, 3), (other, 1, 4), (other, 9, 24)):
        HeatDay.objects.create(
            volume=volume,
            day=today - timedelta(days=days),
            records=b"",
            counted_seconds=3600 * hours,
        )
    for state, ended_at in ((TraceState.RUNNING, None), (TraceState.DONE, timezone.now())):
        HeatTrace.objects.create(
            volume=there.volume,
            host=there.host,
            minutes=5,
            chunk_bytes=65_536,
            state=state,
            ended_at=ended_at,
        )
    found = samples()
    assert found['tiercel_heat_hosts{state="running"}'] == 1
    assert found['tiercel_heat_hosts{state="off"}'] == 1
    assert found['tiercel_heat_hosts{state="unknown"}'] == 1
    assert found['tiercel_host_heat_counted_seconds{host="stor-1"}'] == 7 * 3600
    assert found['tiercel_heat_traces{state="running"}'] == 1
    assert found['tiercel_heat_traces{state="wanted"}'] == 0


def test_the_number_of_queries_does_not_grow_with_the_fleet(
    django_assert_max_num_queries: Any,
) -> None:
    for n in range(5):
        full_house(f"stor-{n}")
    with django_assert_max_num_queries(27):
        exposition()


# --- What the documents use ----------------------------------------------------------------------


def metric_names(text: str) -> set[str]:
    names = set(re.findall(r"\btiercel_\w+", text))
    return {
        re.sub(r"_(bucket|sum|count)$", "", each) if "latency" in each else each for each in names
    }


def expressions() -> list[str]:
    of_panels = [
        target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())
    ]
    return of_panels + [rule["expr"] for group in RULES["groups"] for rule in group["rules"]]


def test_the_dashboard_and_the_rules_use_only_what_there_is() -> None:
    assert len(expressions()) > 30
    known = {family.name for family in FAMILIES}
    used = {name for each in expressions() for name in metric_names(each)}
    variables = {each["query"]["query"] for each in DASHBOARD["templating"]["list"][1:]}
    used |= {name for each in variables for name in metric_names(each)}
    assert used <= known
    assert metric_names((DOCS / "metrics.md").read_text()) <= known


def test_the_rules_use_labels_that_their_metrics_have() -> None:
    full_house()
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(exposition()):
        for each in family.samples:
            labels.setdefault(each.name, set()).update(each.labels)
    for expression in expressions():
        for name, matched in re.findall(r"(tiercel_\w+)\{([^}]*)\}", expression):
            if name in labels:
                assert set(re.findall(r"(\w+)=", matched)) <= labels[name], expression


def test_every_panel_of_the_dashboard_has_its_place() -> None:
    ids = [each["id"] for each in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    places = [(each["gridPos"]["x"], each["gridPos"]["y"]) for each in DASHBOARD["panels"]]
    assert len(places) == len(set(places))
    assert all(each["gridPos"]["x"] + each["gridPos"]["w"] <= 24 for each in DASHBOARD["panels"])


@pytest.fixture(scope="module")
def promtool() -> Callable[..., str]:
    """Debian's, which `make debian` has unpacked; a test that needs it is skipped without."""
    try:
        path = program_of("promtool", "prometheus")
    except NotHere as why:
        pytest.skip(str(why))

    def run(*arguments: str, text: str = "") -> str:
        command = [str(path), *arguments]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def test_promtool_finds_nothing_wrong_with_the_metrics(promtool: Callable[..., str]) -> None:
    full_house()
    assert promtool("check", "metrics", text=exposition()).strip() == ""


def test_promtool_finds_nothing_wrong_with_the_rules(promtool: Callable[..., str]) -> None:
    rules = DOCS / "metrics" / "prometheus-rules.yml"
    assert f"SUCCESS: {sum(len(group['rules']) for group in RULES['groups'])}" in promtool(
        "check", "rules", str(rules)
    )


def test_a_counter_that_is_read_back_is_the_same() -> None:
    """The stored counters are JSON of the type that the exposition decodes."""
    row = sampled(scene())
    text = json.dumps(row.counters)
    assert encode_counters(msgspec.json.decode(text, type=VolumeCounters)) == row.counters


def test_metrics_say_whether_work_goes_on() -> None:
    now = timezone.now()
    job(scene(), updated_at=now - timedelta(minutes=5))
    LifeSign.objects.create(kind="worker", node="a", process="p", slot=0, seen_at=now)
    LifeSign.objects.create(
        kind="worker", node="a", process="p", slot=1, seen_at=now, doing="b", busy_since=now
    )
    text = exposition()
    assert "tiercel_jobs_due 1\n" in text
    oldest = re.search(r"^tiercel_job_due_oldest_timestamp_seconds (\S+)$", text, re.M)
    assert oldest is not None and float(oldest[1]) == pytest.approx(now.timestamp() - 300, abs=1)
    for state, count in (("idle", 1), ("busy", 1), ("stuck", 0), ("silent", 0)):
        assert f'tiercel_slots{{kind="worker",state="{state}"}} {count}\n' in text
    assert f'tiercel_sign_timestamp_seconds{{kind="worker"}} {now.timestamp()}' in text
