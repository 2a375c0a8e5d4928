"""Disks that are added to a host: SSDs for a volume group, members for an array. For admins."""

from __future__ import annotations

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.queue.submit import submit_for_host
from panel.api.framework.bodies import Body
from panel.api.framework.fields import Text
from panel.api.framework.shape import Json
from panel.api.hosts.host_resource import HostResource
from panel.api.jobs.job_work import JobWork, work
from panel.models import Scope
from storage.access import Right
from storage.models import Host
from storage.planner import Refused
from storage.planner.host_wish import HostWish
from storage.stored_inventory import inventory_of
from storage.volumes.disk_offers import DiskOffer, preparations, replacements


class SsdBody(Body):
    """An empty SSD, and the group that gets it."""

    device = Text("The kernel's name of the device, as in the last inventory.")
    serial = Text(
        "The serial number on the drive's label, or the UUID of an array. It must match the device."
    )
    vg = Text("A volume group that root allows Tiercel to change.")


class MemberBody(Body):
    """An empty disk, and the member that it replaces."""

    device = Text("The kernel's name of the new disk, as in the last inventory.")
    serial = Text("The serial number on the new drive's label. It must match the device.")
    member = Text(
        "The working member to replace. Omit it if the array lacks a disk: the new disk takes that"
        " place.",
        required=False,
    )


class HostWork(JobWork, HostResource):
    """What a job is to do with the disks of a host."""

    preview_scope = Scope.PREVIEW

    def asked(self, host: Host, wanted: HostWish) -> Response:
        """The job, or its preview."""
        return self.begun(submit_for_host(host, wanted, self.requester, dry_run=self.is_dry))


class HostSsds(HostWork):
    """More room for caches."""

    other_scopes = (Scope.VOLUMES,)

    @work(
        "host_ssd_add",
        "Add an SSD to a volume group",
        "A job adds it; Location names it.",
        body=SsdBody,
    )
    def post(self, request: Request, key: str) -> Response:
        """For admins. The whole device becomes a physical volume of the group. Refused for a device
        that is in use or carries any signature."""
        host = self.host(key, Right.ADMINISTER, with_inventory=True)
        return self.asked(host, _preparation(host, self.read()))


class ArrayMembers(HostWork):
    """Disks for an array."""

    @work(
        "host_array_member_replace",
        "Replace a disk of an array",
        "A job replaces it; Location names it.",
        body=MemberBody,
    )
    def post(self, request: Request, key: str, array: str) -> Response:
        """For admins, where root on the host allows it. The array stays in use while the kernel
        fills the new disk; the job ends once that is done and the old disk is out. Refused for a
        disk that is in use, too small, slower, or carries any signature."""
        host = self.host(key, Right.ADMINISTER, with_inventory=True)
        return self.asked(host, _replacement(host, array, self.read()))


def _replacement(host: Host, name: str, values: Json) -> HostWish:
    facts = inventory_of(host)
    named = [each for each in facts.arrays if each.name == name] if facts is not None else []
    if facts is None or not named:
        raise Http404
    offer = replacements(facts, named[0], allowed=host.replaces_members)
    if offer.refusal is None and "member" in values and not offer.places:
        raise Refused(
            "degraded",
            f"{name} is missing a disk: until it is complete, no other disk is removed.",
            "Fill the free place first: omit `member`.",
        )
    return _chosen(offer, values)


def _preparation(host: Host, values: Json) -> HostWish:
    facts = inventory_of(host)
    if facts is None:
        raise Refused(
            "not_read", "The host has not been read yet.", "Wait for its first inventory."
        )
    return _chosen(preparations(facts), values)


def _chosen(offer: DiskOffer, values: Json) -> HostWish:
    if offer.refusal is not None:
        raise offer.refusal
    return offer.wish(values["device"], values["serial"], values.get(offer.place, ""))
