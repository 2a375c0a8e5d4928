"""The tasks that Celery beat starts, and their intervals."""

from __future__ import annotations


def timetable(shards: int, sample_seconds: int, proof_seconds: int) -> dict[str, dict[str, object]]:
    """The entries of beat: each task does what is due, so that one missed or doubled does no
    harm. `proof_seconds` is how long a proof measures."""
    return {
        "sweep": every(5, "jobs.tasks.sweep"),
        "refresh-facts": every(300, "jobs.tasks.refresh_facts"),
        "keep-partitions": every(3600, "jobs.tasks.keep_partitions"),
        "orders": every(5, "panel.tasks.sweep_orders"),
        "proofs": every(min(60, max(5, proof_seconds // 12)), "panel.tasks.sweep_proofs"),
        "notices": every(30, "panel.tasks.send_notices"),
        "messages": every(5, "panel.tasks.send_messages"),
        "usage": every(300, "panel.tasks.write_usage"),
        "prune-told": every(3600, "panel.tasks.prune_told"),
        "prune-sessions": every(86_400, "panel.tasks.prune_sessions"),
        "prune-previews": every(3600, "jobs.tasks.prune_previews"),
    } | {
        f"collect-{shard}": every(
            sample_seconds, "jobs.tasks.collect_shard", shard, queue=f"collect.{shard}"
        )
        for shard in range(shards)
    }


def every(seconds: int, task: str, *args: int, queue: str = "jobs") -> dict[str, object]:
    """Return a beat entry whose message is dropped when the next one is due."""
    options = {"queue": queue, "expires": seconds}
    return {"task": task, "schedule": float(seconds), "args": args, "options": options}
