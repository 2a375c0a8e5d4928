"""From the body of a request to a new volume and its job."""

from __future__ import annotations

from rest_framework import serializers

from jobs.models import Job
from jobs.queue.create_volume import create
from jobs.requester import Requester
from panel.api import bodies
from panel.api.framework.problem import Problem, flat
from panel.api.shapes import Json
from panel.models import User
from storage.models import Volume
from storage.planner.wish import BadWish, Wish
from storage.volumes.forms import GroupChoice, groups_of


def make(values: Json, user: User, requester: Requester, *, dry_run: bool) -> Job:
    """The job that makes a volume of the `values` of `NewVolumeBody`; raises `Refused`, and
    `Problem` for bad values."""
    group = _group(values["host"], values["vg"], user)
    try:
        wish = Wish(values["size_bytes"], values["tier"], values["layout"])
    except BadWish as error:
        raise _bad("/size_bytes", "invalid", str(error)) from None
    volume = Volume(
        label=values["label"],
        customer=bodies.customer_of(values["customer"], user),
        external_id=values["external_id"],
        layout=wish.layout,
        size_bytes=wish.size_bytes,
    )
    bodies.check(volume)
    return create(volume, group, wish, requester, dry_run=dry_run)


def _group(host: str, vg: str, user: User) -> GroupChoice:
    groups = [each for each in groups_of(user).values() if each.host.key == host]
    if not groups:
        raise _bad("/host", "unknown", "No host of this key lets Tiercel make volumes.")
    found = next((each for each in groups if each.vg_name == vg), None)
    if found is None:
        names = ", ".join(each.vg_name for each in groups)
        raise _bad("/vg", "unknown", f"This host lets Tiercel make volumes in {names}.")
    return found


def _bad(pointer: str, code: str, message: str) -> Problem:
    errors = list(flat([serializers.ErrorDetail(message, code)], pointer))
    return Problem(422, "invalid", "The request has errors.", errors=errors)
