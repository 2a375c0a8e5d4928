"""Known faults of the kernel and LVM of a host, and their acceptance by an admin."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import Body, unfit
from panel.api.framework.fields import Boolean, By, Choice, DateTime, Text
from panel.api.framework.shape import Shape
from panel.api.hosts.host_resource import HostResource
from storage.access import Right
from storage.database_clock import database_now
from storage.health import accepted_faults
from storage.health.accepted_faults import REASON_LIMIT, faults_with_decisions
from storage.models import Host
from storage.planner.kernel_faults import EFFECTS
from storage.stored_inventory import inventory_of


class FaultAcceptanceShape(Shape):
    """Who accepted a fault, and why."""

    at = DateTime("When it happened.")
    by = By()
    reason = Text("The reason that the person gave.")


class HostFaultShape(Shape):
    """A known fault of the host's kernel or LVM. Where `sure` is false, it is unknown which
    upstream release the kernel is built from. While a fault is `refusing`, the panel refuses new
    plans that rely on the faulty part."""

    code = Text("For programs; it never changes its meaning.", of="present.fault.code")
    effect = Choice("What may happen.", EFFECTS, of="present.fault.effect")
    technology = Text("The technology whose caches are affected.", of="present.fault.technology")
    sure = Boolean(
        "False: the upstream release of the kernel is unknown.",
        of="present.is_sure",
    )
    message = Text("What is wrong, in a sentence for people.", of="present.message")
    correction = Text(
        "What to do, in a sentence for people; empty where nothing is to be done.",
        of="present.fault.correction",
    )
    link = Text("A page that describes it.", of="present.fault.link")
    refusing = Boolean("Whether new plans that rely on it are refused.", of="is_refusing")
    acceptance = FaultAcceptanceShape("Who accepted it; null: no one.", of="accepted", null=True)


class HostFaultsShape(Shape):
    """Faults that refuse plans come first."""

    items = HostFaultShape("The rows of this answer, one each.", many=True)


class AcceptFaultBody(Body):
    """Why the fault is accepted. Repeating the code prevents the acceptance of the wrong fault."""

    reason = Text("Why the fault is accepted.", max_length=REASON_LIMIT)
    confirm_code = Text("The code of the fault again.", max_length=64)


class FaultResource(HostResource):
    """Of faults."""

    def faults(self, host: Host) -> Response:
        """All of the host."""
        facts = inventory_of(host)
        listed = () if facts is None else faults_with_decisions(host, facts)
        return self.shown({"items": listed})


class HostFaults(FaultResource):
    """Known faults of the kernel and LVM of a host."""

    @operation("host_faults", "List the known faults of a host's kernel and LVM", HostFaultsShape)
    def get(self, request: Request, key: str) -> Response:
        """Empty before the first inventory."""
        return self.faults(self.host(key, with_inventory=True))


class FaultAcceptance(FaultResource):
    """Acceptance of a fault by an admin, and its end."""

    @operation(
        "host_fault_accept",
        "Accept a fault of a host's kernel",
        HostFaultsShape,
        body=AcceptFaultBody,
    )
    def put(self, request: Request, key: str, fault: str) -> Response:
        """For admins. Plans of this host that rely on it are no longer refused; data may be lost.
        Only a fault of the effect `data_loss` can be accepted."""
        host = self.host(key, Right.ADMINISTER, with_inventory=True)
        values = self.read()
        if values["confirm_code"] != fault:
            raise unfit("confirm_code", "The code does not match.")
        accepted_faults.accept_fault(host, fault, self.user.email, values["reason"], database_now())
        return self.faults(host)

    @operation(
        "host_fault_revoke", "Take back the acceptance of a fault", HostFaultsShape, problems=(422,)
    )
    def delete(self, request: Request, key: str, fault: str) -> Response:
        """For admins. New plans are refused again; running jobs continue."""
        host = self.host(key, Right.ADMINISTER, with_inventory=True)
        accepted_faults.revoke_acceptance(host, fault)
        return self.faults(host)
