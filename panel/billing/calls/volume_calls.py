"""Calls about volumes: assign them to a customer, terminate them."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.utils import timezone

from jobs.models import Job, Kind, Origin
from jobs.queue.submit import Busy, ChangeRequest, holder_of, submit
from jobs.requester import Requester
from panel.api.framework.problem import ApiProblem, unprocessable
from panel.api.framework.shape import Json
from panel.billing.calls.calling import ACTOR, Caller, CallResult, customer_of, volume_of
from panel.models import Order, OrderState
from panel.orders import authorisation
from storage.database_clock import database_now
from storage.models import Customer, Volume
from storage.row_locks import hold, hold_one
from storage.volumes.lifecycle import allowed_life
from storage.volumes.ownership import give, refusal_to_give
from storage.volumes.snapshot import snapshots_of

NOT_BEGUN = (OrderState.SCHEDULED, *authorisation.ASKED)


def bind_volume(body: Json, _: Caller) -> CallResult:
    """Assigns the volume to the customer, under the billing system's name. The host is not
    changed."""
    customer = customer_of(body)
    volume = hold_one(volume_of(body))
    if volume.customer_id != customer.pk:
        if (holder := holder_of(volume)) is not None:
            raise Busy(holder)
        if (refusal := refusal_to_give(volume, customer, is_busy=False)) is not None:
            raise refusal
        give(volume, customer, database_now())
    name = body.get("volume_external_id", "")
    if name and volume.external_id != name:
        if volume.external_id:
            raise ApiProblem(
                422,
                "already_bound",
                f"This volume already has the external id {volume.external_id}.",
                "Change its external_id at /api/v1/volumes/ first.",
            )
        volume.external_id = name
        try:
            volume.full_clean()
        except ValidationError as error:
            raise unprocessable(error) from None
        volume.save(update_fields=["external_id"])
    return CallResult({"volume": volume.key, "customer": customer.key})


def terminate(body: Json, caller: Caller) -> CallResult:
    """Switches volumes off; they keep their data until an admin destroys them. A call applies to
    all of its volumes or to none. A call for a whole customer also suspends it."""
    if body.get("volume") or body.get("volume_external_id"):
        volumes = [volume_of(body)]
    else:
        customer = customer_of(body)
        # The customer's row before the volumes', as `storage.row_locks` wants it.
        Customer.objects.select_for_update(no_key=True).get(pk=customer.pk)
        volumes = list(Volume.objects.existing().filter(customer=customer))
        ending = Customer.objects.filter(pk=customer.pk, suspended_at=None)
        ending.update(suspended_at=database_now())
    locked = hold(*volumes)
    jobs = [job for volume in locked if (job := _retire(volume, caller)) is not None]
    hours = {row.host.undo_hours for row in snapshots_of(volumes) if row.host is not None}
    data = {
        "jobs": [
            {"job": job.key, "volume": job.its_volume.key, "state": job.state} for job in jobs
        ],
        "undo_hours": min(hours, default=None),
    }
    return CallResult(data, is_pending=bool(jobs))


def _retire(volume: Volume, caller: Caller) -> Job | None:
    """The job that switches the volume off, None where it is off; raises `Refused` and `Busy`."""
    for order in Order.objects.filter(volume=volume, state__in=NOT_BEGUN):
        authorisation.cancel_order(order, None)
    if (holder := holder_of(volume)) is not None:
        if holder.kind == Kind.RETIRE_VOLUME and not holder.cancel_requested:
            return holder
        raise Busy(holder)
    if volume.retired_at is not None:
        return None
    [row] = snapshots_of([volume])
    wish = allowed_life(row, "retired", timezone.now())
    return submit(
        ChangeRequest(Kind.RETIRE_VOLUME, volume, wish),
        Requester(None, address=caller.address, origin=Origin.API, token=ACTOR),
    )
