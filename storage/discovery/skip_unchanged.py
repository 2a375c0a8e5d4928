"""Skips an inventory that equals the last one, unless somebody changed the records meanwhile."""

from __future__ import annotations

from datetime import datetime

from django.db import connection

_ROWS = """
    SELECT md5(coalesce(string_agg(placement::text || volume::text, ';' ORDER BY placement.id), ''))
    FROM storage_placement placement
    JOIN storage_volume volume ON volume.id = placement.volume_id
    WHERE placement.host_id = %s AND placement.until IS NULL
"""
_STILL = f"""
    UPDATE storage_host SET facts_at = %s, last_seen_at = %s
    WHERE id = %s AND facts_at = %s AND facts_at <= %s AND ({_ROWS}) = %s
"""  # noqa: S608 (no part of it comes from outside)


def rows_digest(host_id: int) -> str:
    """Of every column of what lies on the host now."""
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, [host_id])
        return str(cursor.fetchone()[0])


def still(host_id: int, rows: str, since: datetime, at: datetime) -> bool:
    """True where the host's last inventory is that of `since` and what lies on it has the digest
    `rows`: then it was read again `at`. False, and nothing is changed, where not."""
    with connection.cursor() as cursor:
        cursor.execute(_STILL, [at, at, host_id, since, at, host_id, rows])
        return bool(cursor.rowcount)
