"""The audit trail, for staff only: everybody else gets 404."""

from __future__ import annotations

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.audit_trail import FILTERS, BadSince, entry_json, filtered
from jobs.models import AuditEntry
from panel.api.framework import described
from panel.api.framework.api_lists import Listing
from panel.api.framework.resource import Resource, bad_parameter
from panel.api.framework.shape import Shape
from panel.models import Scope


class AuditCommandShape(Shape):
    """One command that was run, and its exit code (null: it never ended)."""

    argv = serializers.ListField(child=serializers.CharField())
    rc = serializers.IntegerField(allow_null=True)


class AuditShape(Shape):
    """One half of what happened to one operation; `job` and `volume` are keys. `commands` and
    `result` `{state, code?, message?}` come with the outcome."""

    at = serializers.DateTimeField()
    phase = serializers.CharField(help_text="intent or outcome.")
    op_id = serializers.UUIDField(
        help_text="The operation; its intent and its outcome have the same."
    )
    job = serializers.CharField(help_text="Key of the job.")
    kind = serializers.CharField(help_text="What the job does.")
    actor = serializers.CharField(allow_blank=True)
    token = serializers.CharField(allow_blank=True)
    address = serializers.CharField(allow_null=True, help_text="IP address of the request.")
    door = serializers.CharField()
    request_id = serializers.CharField(
        allow_blank=True, help_text="`X-Request-Id` of the request that the operation came of."
    )
    host = serializers.CharField(help_text="Key of the host.")
    machine_id = serializers.CharField(
        allow_blank=True, help_text="The host's /etc/machine-id; empty: not known."
    )
    volume = serializers.CharField(help_text="Key of the volume; empty: none.")
    volume_label = serializers.CharField(help_text="Display name of the volume at that time.")
    vg = serializers.CharField(allow_blank=True)
    verb = serializers.CharField(help_text="The operation, as the agent names it.")
    args = serializers.JSONField(help_text="The arguments of the verb, as they were sent.")
    commands = AuditCommandShape(
        many=True, help_text="What was run on the host; empty for an intent."
    )
    result = serializers.JSONField(
        help_text="Its `state` is done, failed, interrupted, not_started or unknown. {} for an "
        "intent."
    )


class Audit(Resource):
    """Every operation that was sent to a host."""

    read_scope = Scope.AUDIT_READ
    staff_only = True
    listing: ClassVar = Listing(
        "audit", AuditShape, order=("at", "id"), time="at", newest_first=True
    )
    parameters: ClassVar = {"GET": (*listing.parameters, *FILTERS)}

    @extend_schema(
        operation_id="audit_list",
        summary="Read the audit trail",
        parameters=[
            *listing.described,
            described.query("host", "Key or name of a host."),
            described.query("volume", "Key or label of a volume."),
            described.query("job", "Key of a job."),
            described.query("actor", "Part of the e-mail address of an account."),
            described.query("request_id", "`X-Request-Id` of the request that it came of."),
            described.query("since", "A day or an RFC 3339 time: not before it."),
            described.query("until", "A day, up to its end, or an RFC 3339 time: before it."),
        ],
        responses={
            200: listing.page_shape("AuditPage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request) -> Response:
        """Newest first. An operation has two entries: its intent and, once it is over, its
        outcome."""
        try:
            rows = filtered(AuditEntry.objects.all().visible_to(self.user), request.query_params)
        except BadSince as bad:
            raise bad_parameter(bad.field, "invalid", str(bad)) from None
        return self.listing.answer(
            request, rows, lambda page: (AuditShape(entry_json(entry)).data for entry in page)
        )
