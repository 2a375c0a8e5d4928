"""The only writer of what hosts report: turns inventories and hellos into rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef

from storage.agent.commands.retirement import is_retired, retired
from storage.discovery import host_timeline
from storage.discovery.block_devices import keep_devices
from storage.discovery.host_summary import outline
from storage.host_data import storable
from storage.inventory.facts import HostFacts, LogicalVolume, decode, encode
from storage.models import Host, Placement, Volume
from storage.models.host import HostState
from storage.naming import MANAGED_TAG, tagged_volume_key
from storage.planner.technologies.lookup import PLAIN, cache_of, layout_seen

GUEST_LIMIT = 200


@transaction.atomic
def apply_hello(
    host: Host, data: dict[str, Any], problems: list[dict[str, str]], at: datetime
) -> None:
    """Store the agent's `hello` and the preflight problems (its own and those the panel saw)."""
    # The row lock puts two answers of one host in order, so that each change is seen once.
    rows = Host.objects.select_for_update(no_key=True).filter(pk=host.pk)
    for before in rows.values_list("hello", flat=True):
        host_timeline.note_host_events(host, host_timeline.changes_of_hello(before, data), at)
    host.problems = dated_problems(storable(problems), host.problems, at)
    host.hello, host.hello_at = storable(data), at
    host.last_seen_at, host.error = at, {}
    host.save(update_fields=["hello", "hello_at", "problems", "last_seen_at", "error"])


@transaction.atomic
def apply_facts(
    host: Host, data: dict[str, Any], at: datetime, same: tuple[HostFacts, datetime] | None = None
) -> HostFacts:
    """Store an inventory and give every public LV on it a volume and a placement.

    1. An LV whose uuid we know keeps its row; names and size follow the host.
    2. An LV with the name and the tag of a volume that we make and that had no uuid yet gets its
       row; a second such LV does not.
    3. An LV that lay on this machine before it was removed from the panel gets its row again.
    4. Any other public LV becomes a found volume: no customer, a row for its samples.

    Nothing is deleted: an LV that vanished, or an inventory that shrank, is for a person to
    judge; a consistent inventory, read under LVM's locks, marks what it lacks (`missing_since`).
    `same` are the facts of an earlier inventory that said the same, and when that was recorded.
    Raises `BadHostData` when the reply has the wrong shape; then nothing is stored.
    """
    facts = decode(data) if same is None else same[0]
    # The row lock puts two inventories of one host in order; the later one wins whole.
    host = Host.objects.without_inventory().select_for_update(no_key=True).get(pk=host.pk)
    if host.state == HostState.REMOVED or (host.facts_at is not None and host.facts_at > at):
        return facts
    if same is not None and host.facts_at == same[1]:
        Host.objects.filter(pk=host.pk).update(facts_at=at, last_seen_at=at)
    else:
        disks = Host.objects.filter(pk=host.pk).values_list("facts__disks", flat=True).get()
        host_timeline.note_host_events(host, host_timeline.changes_of_disks(disks, facts.disks), at)
        # What was decoded, not what was sent: PostgreSQL cannot hold all that JSON can.
        host.facts, host.facts_at, host.last_seen_at = encode(facts), at, at
        host.save(update_fields=["facts", "facts_at", "last_seen_at"])
    placements = Placement.objects.filter(host=host, until=None).select_related("volume")
    by_uuid = {placement.lv_uuid: placement for placement in placements if placement.lv_uuid}
    awaited = {
        (placement.vg_uuid, placement.lv_name, placement.volume.key): placement
        for placement in placements
        if placement.lv_uuid is None
    }
    former: dict[str, Volume] | None = None
    for lv in facts.public_lvs():
        key = tagged_volume_key(lv.tags)
        placement = by_uuid.get(lv.uuid) or (
            awaited.pop((lv.vg_uuid, lv.name, key), None) if key else None
        )
        if placement is None:
            former = _former(host) if former is None else former
            _found(host, facts, lv, key, at, former.get(lv.uuid))
        else:
            _follow(placement, lv, key, at)
    _mark(placements, facts, at)
    keep_caches(placements, facts)
    outline(host, facts, placements, at)
    keep_devices(host, facts, at)
    return facts


def dated_problems(
    now: list[dict[str, str]], before: Iterable[dict[str, Any]], at: datetime
) -> list[dict[str, str]]:
    """Each problem with `since` when it is known. Where its words changed (a clock that goes on
    going wrong) it is the same by its subject, or as long as it is the only one of its code."""
    earlier, later = list(before), Counter(problem["code"] for problem in now)
    by_words = {(each.get("code"), each.get("message")): each.get("since") for each in earlier}
    by_subject = {(each.get("code"), each.get("subject")): each.get("since") for each in earlier}
    codes = Counter(each.get("code") for each in earlier)
    by_code = {each.get("code"): each.get("since") for each in earlier}
    dated = []
    for problem in now:
        code = problem["code"]
        since = by_words.get((code, problem["message"]))
        if since is None and problem.get("subject"):
            since = by_subject.get((code, problem["subject"]))
        if since is None and later[code] == codes[code] == 1:
            since = by_code[code]
        dated.append(problem | {"since": since or at.isoformat()})
    return dated


def _mark(placements: Iterable[Placement], facts: HostFacts, at: datetime) -> None:
    """Note which volumes the inventory lacks, and which are back."""
    reported = {lv.uuid for lv in facts.lvs}
    known = [placement for placement in placements if placement.lv_uuid is not None]
    back = [each.pk for each in known if each.missing_since and each.lv_uuid in reported]
    Placement.objects.filter(pk__in=back).update(missing_since=None)
    is_whole = not any(each.part == "lvs" for each in facts.unread)
    if facts.consistent and not facts.stale and is_whole:
        gone = [
            each.pk for each in known if not each.missing_since and each.lv_uuid not in reported
        ]
        Placement.objects.filter(pk__in=gone).update(missing_since=at)


def guest_of(lv: LogicalVolume) -> str:
    """The guests that use a volume, "web12 · vdb"; "" where none does. A mount or a process of
    the host itself is no guest."""
    guests = (str(user) for user in lv.users if user.is_guest)
    return ", ".join(dict.fromkeys(guests))[:GUEST_LIMIT]


def _former(host: Host) -> dict[str, Volume]:
    """By the uuid of their LVs: the volumes that lay on this machine when it was removed from the
    panel, and lie nowhere since."""
    if not host.machine_id:
        return {}
    removed = Host.objects.filter(state=HostState.REMOVED, machine_id=host.machine_id)
    ended = Placement.objects.filter(
        host__in=removed, lv_uuid__isnull=False, until=F("host__removed_at")
    )
    elsewhere = Placement.objects.filter(volume=OuterRef("volume"), until=None)
    ended = ended.filter(~Exists(elsewhere), volume__destroyed_at=None).order_by("until")
    return {str(each.lv_uuid): each.volume for each in ended.select_related("volume")}


def _found(
    host: Host,
    facts: HostFacts,
    lv: LogicalVolume,
    key: str | None,
    at: datetime,
    former: Volume | None,
) -> None:
    marks = retired(lv.tags)
    if marks is not None and _was_destroyed(host, lv):
        # The inventory was read just before the end.
        return
    label = marks.name if marks is not None else lv.name
    fields: dict[str, Any] = {"label": label[:200], "size_bytes": lv.guest_size_bytes}
    fields |= {"guest": guest_of(lv), "retired_at": _retired_at(lv)}
    if key is not None and not Volume.objects.filter(key=key).exists():
        # Tagged by an earlier life of this panel: the tag on the disk is the older truth.
        fields |= {"key": key, "managed": MANAGED_TAG in lv.tags}
    volume = former or Volume.objects.create(**fields, layout=layout_seen(lv))
    placement = Placement.objects.create(
        volume=volume,
        host=host,
        vg_name=lv.vg_name,
        vg_uuid=lv.vg_uuid,
        lv_name=lv.name,
        lv_uuid=lv.uuid,
        retired_seen_at=at if is_retired(lv.tags) else None,
        **note_of(facts, lv),
    )
    if former is not None:
        _follow(placement, lv, key, at)


def _follow(placement: Placement, lv: LogicalVolume, key: str | None, at: datetime) -> None:
    if is_retired(lv.tags) != (placement.retired_seen_at is not None):
        placement.retired_seen_at = at if is_retired(lv.tags) else None
        placement.save(update_fields=["retired_seen_at"])
    seen = (lv.vg_name, lv.vg_uuid, lv.name, lv.uuid)
    known = (placement.vg_name, placement.vg_uuid, placement.lv_name, placement.lv_uuid)
    if seen != known:
        placement.vg_name, placement.vg_uuid, placement.lv_name, placement.lv_uuid = seen
        placement.save(update_fields=["vg_name", "vg_uuid", "lv_name", "lv_uuid"])
    volume = placement.volume
    layout: str = layout_seen(lv)
    size_bytes = lv.guest_size_bytes
    if volume.layout != PLAIN and layout == PLAIN:
        # Its device is not registered now; the layout stays what it was at birth.
        layout, size_bytes = volume.layout, volume.size_bytes
    now: dict[str, Any] = {
        "managed": MANAGED_TAG in lv.tags and key == volume.key,
        "size_bytes": size_bytes,
        "layout": layout,
        "guest": guest_of(lv),
        "retired_at": _retired_at(lv),
    }
    if any(getattr(volume, name) != value for name, value in now.items()):
        for name, value in now.items():
            setattr(volume, name, value)
        volume.save(update_fields=list(now))


def _retired_at(lv: LogicalVolume) -> datetime | None:
    """Since when the volume is retired, by the host's clock; a mark beyond all calendars is none
    of ours."""
    marks = retired(lv.tags)
    try:
        return None if marks is None else datetime.fromtimestamp(marks.at, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _was_destroyed(host: Host, lv: LogicalVolume) -> bool:
    ended = Placement.objects.filter(host=host, lv_uuid=lv.uuid, until__isnull=False)
    return ended.filter(volume__destroyed_at__isnull=False).exists()


FIELDS = ("cache_technology", "cache_mode", "cache_bytes", "cache_trouble")
MODE_LIMIT, TROUBLE_LIMIT = 32, 200


def note_of(facts: HostFacts, lv: LogicalVolume) -> dict[str, Any]:
    """The columns of `Placement` that say which cache the volume has."""
    cache = cache_of(facts, lv)
    if cache is None:
        return {"cache_technology": "", "cache_mode": "", "cache_bytes": None, "cache_trouble": ""}
    return {
        "cache_technology": cache.technology,
        "cache_mode": cache.mode[:MODE_LIMIT],
        "cache_bytes": cache.size_bytes,
        "cache_trouble": cache.trouble[:TROUBLE_LIMIT],
    }


def keep_caches(placements: Iterable[Placement], facts: HostFacts) -> None:
    """Write the notes of volumes whose cache is another than noted: one statement, or none."""
    changed = []
    for placement in placements:
        lv = facts.lv(placement.lv_uuid) if placement.lv_uuid is not None else None
        if lv is None:
            continue
        note = note_of(facts, lv)
        if any(getattr(placement, name) != value for name, value in note.items()):
            for name, value in note.items():
                setattr(placement, name, value)
            changed.append(placement)
    Placement.objects.bulk_update(changed, FIELDS, batch_size=500)


_ROWS = """
    SELECT md5(coalesce(string_agg(
        concat_ws(' ', placement.xmin, placement.ctid, volume.xmin, volume.ctid), ';'
        ORDER BY placement.id), ''))
    FROM storage_placement placement
    JOIN storage_volume volume ON volume.id = placement.volume_id
    WHERE placement.host_id = %s AND placement.until IS NULL
        AND (placement.lv_uuid IS NOT NULL OR placement.lv_name = ANY(%s))
"""
"""A volume that is still to be made is nothing to an inventory without an LV of its name."""
_STILL = f"""
    UPDATE storage_host SET facts_at = %s, last_seen_at = %s
    WHERE id = %s AND facts_at = %s AND facts_at <= %s AND ({_ROWS}) = %s
"""  # noqa: S608 (no part of it comes from outside)


def rows_digest(host_id: int, facts: HostFacts) -> str:
    """Of what lies on the host now, as far as `facts` can have to do with it: which transaction
    wrote each row, and where. Whatever changes a row writes it anew."""
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, [host_id, _names(facts)])
        return str(cursor.fetchone()[0])


def still(host_id: int, facts: HostFacts, rows: str, since: datetime, at: datetime) -> bool:
    """True where the host's last inventory is that of `since`, which came to `facts`, and what lies
    on it has the digest `rows`: then it was read again `at`. False, and nothing is changed, where
    not."""
    with connection.cursor() as cursor:
        cursor.execute(_STILL, [at, at, host_id, since, at, host_id, _names(facts), rows])
        return bool(cursor.rowcount)


def _names(facts: HostFacts) -> list[str]:
    return [lv.name for lv in facts.lvs]
