"""The audit trail, for staff only: everybody else gets 404."""

from __future__ import annotations

from typing import ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from jobs.audit_trail import BadSince, entry_json, filtered
from jobs.models import AuditEntry
from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.fields import Anything, By, DateTime, Integer, Text, Texts, Uuid
from panel.api.framework.parameters import Parameter, bad_parameter
from panel.api.framework.resource import Resource
from panel.api.framework.shape import Shape, show
from panel.models import Scope


class AuditCommandShape(Shape):
    """One executed command and its exit code (null: it did not end)."""

    argv = Texts("The program and its arguments.")
    rc = Integer("Exit code; null: it has not ended.", null=True)


class AuditShape(Shape):
    """One of the two entries of an operation; `job` and `volume` are keys. `commands` and
    `result` `{state, code?, message?}` come with the outcome."""

    at = DateTime("When it happened.")
    phase = Text("intent or outcome.")
    op_id = Uuid("The operation; its intent and its outcome have the same.")
    job = Text("Key of the job.")
    kind = Text("What the job does.")
    actor = By()
    token = Text("Key of the token of the request; empty: none.")
    address = Text("IP address of the request.", null=True)
    door = Text("Where the request came from, such as page, API or billing.", of="origin")
    request_id = Text("`X-Request-Id` of the request that caused the operation.")
    host = Text("Key of the host.")
    machine_id = Text("The host's /etc/machine-id; empty: unknown.")
    volume = Text("Key of the volume; empty: none.")
    volume_label = Text("Display name of the volume at that time.")
    vg = Text("Name of the volume group.")
    verb = Text("The operation, as the agent names it.")
    args = Anything("The arguments of the verb, as they were sent.")
    commands = AuditCommandShape("What was run on the host; empty for an intent.", many=True)
    result = Anything(
        "Its `state` is done, failed, interrupted, not_started or unknown. {} for an intent."
    )


class Audit(Resource):
    """Every operation that was sent to a host."""

    read_scope = Scope.AUDIT_READ
    staff_only = True
    listing: ClassVar = Listing(
        "audit",
        AuditShape,
        order=("at", "id"),
        time="at",
        newest_first=True,
        filters=(
            Parameter("host", "Key or name of a host."),
            Parameter("volume", "Key or label of a volume."),
            Parameter("job", "Key of a job."),
            Parameter("actor", "Part of the e-mail address of an account."),
            Parameter("request_id", "`X-Request-Id` of the request that caused it."),
            Parameter("since", "A day or an RFC 3339 time; entries from then on."),
            Parameter("until", "A day, including it, or an RFC 3339 time, excluding it."),
        ),
    )

    @operation("audit_list", "Read the audit trail", listing)
    def get(self, request: Request) -> Response:
        """Newest first. An operation has two entries: its intent and, once it has ended, its
        outcome."""
        try:
            rows = filtered(AuditEntry.objects.all().visible_to(self.user), request.query_params)
        except BadSince as bad:
            raise bad_parameter(bad.field, "invalid", str(bad)) from None
        return self.page(rows, lambda page: [show(AuditShape, entry_json(row)) for row in page])
