"""The Celery tasks of jobs. Messages are hints: each task does what the database says is due."""

from __future__ import annotations

from celery import shared_task

from jobs import collector, live_view, notify_workers
from jobs.alerts import alert_judge
from jobs.benchmarks import follow as following_benchmarks
from jobs.benchmarks import gate_steps
from jobs.engine import heat_traces, holds, media_checks
from jobs.hosts import read_heat as reading_heat
from jobs.hosts import refresh as refreshing
from jobs.queue import bulk, dispatch, leave_writeback
from jobs.queue import reaper as sweeping
from storage.analysis import (
    disk_condition,
    heat_store,
    host_rates,
    restart_verdicts,
    size_forecasts,
)
from storage.database_clock import database_now
from storage.discovery import host_timeline
from storage.health import cache_condition_records, smart_records
from storage.metrics.samples import ensure_partitions, load_rollup
from storage.metrics.samples.chunk_store import KINDS
from storage.metrics.samples.packer import pack_samples
from storage.models import Host


@shared_task
def run_due_jobs(site: str = "") -> None:
    dispatch.run_due(site)


@shared_task
def go_on_with_bulk_change(change_id: int) -> None:
    """Some volumes at a time: the rest waits behind newer jobs."""
    if bulk.go_on(change_id):
        notify_workers.bulk_change(change_id)


@shared_task
def sweep() -> None:
    holds.end_due_maintenances()
    sweeping.sweep()
    media_checks.announce_due()
    heat_traces.announce_due()
    gate_steps.announce_boots()
    following_benchmarks.announce_due_benchmarks()


@shared_task
def begin_check(check_id: int) -> None:
    media_checks.begin_media_check(check_id)


@shared_task
def collect_shard(shard: int) -> None:
    collector.collect(shard)


@shared_task
def collect_watched(shard: int) -> None:
    collector.collect_watched(shard)


@shared_task
def stream_live(volume_id: int) -> None:
    live_view.stream(volume_id)


@shared_task
def read_disks(shard: int) -> None:
    collector.collect_disks(shard)


@shared_task
def collect_heat() -> None:
    """One message per host whose agent counts heat, so that a slow one delays no other."""
    for host in reading_heat.hosts_that_count():
        notify_workers.send("jobs.tasks.read_heat", host.pk)


@shared_task
def read_heat(host_id: int) -> None:
    host = Host.objects.active().without_inventory().filter(pk=host_id).first()
    if host is not None:
        reading_heat.read_heat(host)


@shared_task
def follow_trace(trace_id: int) -> None:
    heat_traces.follow_trace(trace_id)


@shared_task
def follow_benchmark(benchmark_id: int) -> None:
    following_benchmarks.follow_benchmark(benchmark_id)


@shared_task
def measure_hosts() -> None:
    host_rates.measure_hosts(database_now())


@shared_task
def prune_host_history() -> None:
    """Readings of disks, the time lines of hosts, and heat."""
    now = database_now()
    heat_store.prune_heat(now)
    smart_records.prune_readings(now)
    host_timeline.prune_timeline(now)


@shared_task
def refresh_facts() -> None:
    """One message per host, so that a slow one delays no other."""
    for host_id in Host.objects.active().values_list("id", flat=True):
        notify_workers.send("jobs.tasks.refresh_host", host_id)


@shared_task
def refresh_host(host_id: int) -> None:
    host = Host.objects.active().filter(pk=host_id).first()
    if host is not None:
        refreshing.refresh(host)


@shared_task
def keep_partitions() -> None:
    ensure_partitions(database_now())


@shared_task
def add_up_fleet() -> None:
    load_rollup.add_up_fleet()


@shared_task
def pack() -> None:
    """For a bounded time: the rest is packed in the next round."""
    for kind in KINDS:
        pack_samples(kind, database_now(), seconds=10)


@shared_task
def judge_cache_states() -> None:
    """New data on one SSD alone is written back where the host's settings say so."""
    cache_condition_records.judge_states(database_now())
    leave_writeback.leave_due()


@shared_task
def judge_volumes() -> None:
    disk_condition.judge_volumes(database_now())


@shared_task
def judge_caches() -> None:
    now = database_now()
    cache_condition_records.judge_recent(now)
    disk_condition.judge_disks(now)


@shared_task
def judge_cache_days() -> None:
    cache_condition_records.judge_lasting(database_now())


@shared_task
def judge_restarts() -> None:
    restart_verdicts.judge_restarts(database_now())


@shared_task
def renew_size_forecasts() -> None:
    size_forecasts.renew_forecasts(database_now())


@shared_task
def prune_previews() -> None:
    sweeping.prune_previews()


@shared_task
def judge_alerts() -> None:
    alert_judge.judge()
