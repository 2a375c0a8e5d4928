"""Adoption in the database: candidates, the adoption itself, and its undo."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import transaction

from storage.access import Person
from storage.adoption.judge import AdoptionQuestion, Buyer, Candidate, Judgement, judge_rows
from storage.inventory.facts import HostFacts, LogicalVolume
from storage.models import Customer, Placement, Volume
from storage.models.host import Host
from storage.stored_inventory import inventory_of


def candidates_of(user: Person, host: Host | None = None) -> tuple[Candidate, ...]:
    """Every volume on the hosts (or on one) with what adoption has to know of it."""
    seen = Volume.objects.visible_to(user).in_service()
    placements = Placement.objects.filter(volume__in=seen, until=None, lv_uuid__isnull=False)
    if host is not None:
        placements = placements.filter(host=host)
    placements = placements.select_related("volume__customer").order_by("vg_name", "lv_name")
    hosts = {each.pk: each for each in Host.objects.visible_to(user)}
    inventories = {pk: _lvs(inventory_of(each)) for pk, each in hosts.items()}
    candidates = [
        _candidate(placement, hosts[placement.host_id], inventories[placement.host_id])
        for placement in placements
        if placement.host_id in hosts
    ]
    return tuple(sorted(candidates, key=lambda each: each.host_name))


def buyers_of(user: Person) -> tuple[Buyer, ...]:
    """Every customer that a row may name."""
    rows = Customer.objects.visible_to(user).values_list("key", "name", "external_id")
    return tuple(Buyer(*row) for row in rows)


@transaction.atomic
def adopt_volumes(
    asks: Sequence[AdoptionQuestion], user: Person, at: datetime, *, make_customers: bool
) -> tuple[Judgement, ...]:
    """Judge every row anew and adopt the good ones, all with the same `adopted_at`."""
    # Two adoptions at once would each find an external id free, and each make the customer; an
    # inventory that is being stored holds the same locks.
    hosts = Host.objects.visible_to(user).order_by("pk")
    list(hosts.select_for_update(no_key=True).values_list("pk"))
    judged = judge_rows(
        asks,
        candidates_of(user),
        buyers_of(user),
        taken_ids(),
        make_customers=make_customers,
    )
    good = [each for each in judged if each.is_good and each.candidate is not None]
    customers = {
        each.key: each
        for each in Customer.objects.filter(key__in=[each.customer_key for each in good])
    }
    made: dict[str, Customer] = {}
    volumes = Volume.objects.in_bulk(
        [each.candidate.key for each in good if each.candidate is not None], field_name="key"
    )
    for each in good:
        if each.candidate is None:
            continue
        customer = customers.get(each.customer_key) or made.get(each.customer_name)
        if customer is None:
            customer = made[each.customer_name] = Customer.objects.create(name=each.customer_name)
        volume = volumes[each.candidate.key]
        volume.customer, volume.external_id = customer, each.ask.external_id
        volume.adopted_at, volume.label = at, each.ask.label or volume.label
    fields = ["customer", "external_id", "adopted_at", "label"]
    Volume.objects.bulk_update(volumes.values(), fields, batch_size=500)
    return judged


def release(volume: Volume) -> None:
    """Undo the adoption of one volume: it is a found volume again, under its LV's name."""
    placement = volume.placed
    volume.customer, volume.external_id, volume.adopted_at = None, "", None
    volume.label = placement.lv_name if placement is not None else volume.label
    volume.save(update_fields=["customer", "external_id", "adopted_at", "label"])


def last_batch(user: Person) -> list[Volume]:
    """The volumes that were adopted last, together; none where nothing was adopted."""
    adopted = Volume.objects.visible_to(user).filter(adopted_at__isnull=False)
    newest = adopted.order_by("-adopted_at").values_list("adopted_at", flat=True).first()
    return list(adopted.filter(adopted_at=newest).select_related("customer")) if newest else []


def taken_ids() -> frozenset[str]:
    """External ids that volumes have."""
    named = Volume.objects.filter(previewed_at=None).exclude(external_id="")
    external_ids = named.values_list("external_id", flat=True)
    return frozenset(external_ids)


def _lvs(facts: HostFacts | None) -> dict[str, tuple[LogicalVolume, bool]]:
    """LV and whether its group may be changed, by uuid."""
    if facts is None:
        return {}
    allowed = {vg.uuid for vg in facts.vgs if vg.allowed}
    return {lv.uuid: (lv, lv.vg_uuid in allowed) for lv in facts.lvs}


def _candidate(
    placement: Placement, host: Host, lvs: dict[str, tuple[LogicalVolume, bool]]
) -> Candidate:
    volume = placement.volume
    lv, is_allowed = lvs.get(placement.lv_uuid or "", (None, False))
    return Candidate(
        key=volume.key,
        host_name=host.name,
        vg_name=placement.vg_name,
        lv_name=placement.lv_name,
        lv_uuid=placement.lv_uuid or "",
        guest=volume.guest,
        owner=volume.customer.name if volume.customer is not None else "",
        is_adopted=volume.adopted_at is not None,
        host_use=_host_use(lv) if lv is not None else "",
        is_missing=placement.missing_since is not None,
        is_allowed=is_allowed,
        is_managed=volume.managed,
        size_bytes=volume.size_bytes,
        is_hosts_own=lv is not None and lv.hosts_own != "",
    )


def _host_use(lv: LogicalVolume) -> str:
    if lv.hosts_own:
        return lv.hosts_own
    if any(user.is_guest for user in lv.users):
        return ""
    words = {"mount": "mounted at", "swap": "swap"}
    uses: Iterable[str] = (
        f"{words[user.kind]} {user.name}" for user in lv.users if user.kind in words
    )
    return next(iter(uses), "")
