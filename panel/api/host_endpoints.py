"""Storage hosts and the SSDs added to them. Staff only: for anybody else no host exists."""

from __future__ import annotations

from http import HTTPStatus
from typing import ClassVar

from django.core.exceptions import ValidationError
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.problems import problems_of
from jobs.queue.removal import removal_of, remove
from jobs.queue.submit import submit_add_ssd
from panel.api import request_bodies
from panel.api.framework import cursor, described, idempotent_requests, wait_for_job
from panel.api.framework.resource import Resource, bad_parameter, choices, truth
from panel.api.resource_json import host_json
from panel.api.response_shapes import HOST_STATES, HostShape, JobShape, Json
from storage.access import Right
from storage.database_clock import database_now
from storage.formatting import counted
from storage.health import accepted_faults
from storage.health.accepted_faults import REASON_LIMIT, HostFault, faults_with_decisions
from storage.inventory.stored import inventory_of
from storage.models import Host, HostChange, HostChangeKind
from storage.models.host import MOST_TAGS, SITE_LIMIT, tags_of
from storage.planner import Refused
from storage.planner.kernel_faults import EFFECTS
from storage.planner.ssd_wish import Preparation
from storage.volumes.add_ssd_form import PreparationForm

PRESENT = [value for value, _ in HOST_STATES]


class Hosts(Resource):
    """All hosts."""

    staff_only = True
    parameters: ClassVar = {"GET": (*cursor.PARAMETERS, "state", "site", "tag")}
    repeatable: ClassVar = ("state",)

    @extend_schema(
        operation_id="hosts_list",
        summary="List hosts",
        parameters=[
            *described.PAGE,
            described.choice("state", "State.", PRESENT),
            described.query("site", "Exact match."),
            described.query("tag", "One of its tags."),
        ],
        responses={
            200: described.page_of(HostShape, "HostPage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request) -> Response:
        """Oldest first, without their volume groups."""
        rows = Host.objects.visible_to(self.user).without_inventory()
        if states := choices(request, "state", PRESENT):
            rows = rows.filter(state__in=states)
        if (site := request.query_params.get("site")) is not None:
            rows = rows.filter(site=site)
        if (tag := request.query_params.get("tag")) is not None:
            rows = rows.filter(tags__contains=[tag])
        page, after = cursor.page(request, rows, "hosts")
        problems = problems_of([host.pk for host in page], timezone.now())
        return Response(cursor.body([host_json(host, problems[host.pk]) for host in page], after))


class HostBody(request_bodies.Body):
    """Words to group and find a host by; nothing else depends on them."""

    site = serializers.CharField(
        required=False, allow_blank=True, max_length=SITE_LIMIT, help_text="Where the host stands."
    )
    tags = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text=f"Up to {MOST_TAGS} words, all of them anew; kept in small letters, each once.",
    )

    def validate_tags(self, tags: list[str]) -> list[str]:
        """Each is one word."""
        if any(len(tag.split()) != 1 or "," in tag for tag in tags):
            raise serializers.ValidationError("A tag is one word.", "invalid")
        try:
            return tags_of(" ".join(tags))
        except ValidationError as error:
            raise serializers.ValidationError(error.messages, "invalid") from None


class OneHost(Resource):
    """One host: looked at, labelled, removed."""

    staff_only = True
    parameters: ClassVar = {"DELETE": ("forget_volumes",)}

    @extend_schema(
        operation_id="host",
        summary="Show a host",
        responses={200: HostShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """With its volume groups, as of the last inventory."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        problems = problems_of([host.pk], timezone.now())[host.pk]
        return Response(host_json(host, problems, groups=True))

    @extend_schema(
        operation_id="host_change",
        summary="Set a host's site and tags",
        request=HostBody,
        responses={200: HostShape, **described.problems(403, 404, 422)},
    )
    def patch(self, request: Request, key: str) -> Response:
        """For operators. Nothing on the host changes."""
        host = get_object_or_404(Host.objects.visible_to(self.user).without_inventory(), key=key)
        self.demand(Right.OPERATE)
        values = request_bodies.read(request, HostBody, partial=True)
        Host.objects.filter(pk=host.pk).update(**values)
        return self.get(request, key)

    @extend_schema(
        operation_id="host_remove",
        summary="Remove a host",
        parameters=[
            described.query(
                "forget_volumes",
                "`true`: also where volumes lie on the host. Their records stay, their cache plans "
                "end.",
                enum=["true", "false"],
            )
        ],
        responses={204: None, **described.problems(400, 403, 404, 409, 422)},
    )
    def delete(self, request: Request, key: str) -> Response:
        """For admins. Nothing on the host changes; its jobs and its audit trail are kept. A host
        with unfinished jobs is kept, and so is one that answers and has volumes of customers."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        self.demand(Right.ADMINISTER)
        now = database_now()
        removal = removal_of(host, now)
        if removal.refusal is None and removal.placements and not truth(request, "forget_volumes"):
            raise Refused(
                "in_use",
                f"{counted(len(removal.placements), 'volume')} would be forgotten with {host}.",
                "Repeat the request with forget_volumes=true.",
            )
        remove(host, removal.digest, now)
        return Response(status=HTTPStatus.NO_CONTENT)


class SsdBody(request_bodies.Body):
    """An empty SSD, and the group that it is for."""

    device = serializers.CharField(
        help_text="The kernel's name of the device, as in the last inventory."
    )
    serial = serializers.CharField(
        help_text="The serial number on the drive's label, or the UUID of an array. It must match "
        "the device."
    )
    vg = serializers.CharField(help_text="A volume group that root allows Tiercel to change.")


class HostSsds(Resource):
    """More room for caches."""

    staff_only = True
    parameters: ClassVar = {"POST": ("dry_run", "wait")}

    @extend_schema(
        operation_id="host_ssd_add",
        summary="Add an SSD to a volume group",
        request=SsdBody,
        parameters=[described.DRY_RUN, described.WAIT, described.IDEMPOTENCY_KEY],
        responses={
            200: OpenApiResponse(JobShape, "With `wait`: the job once it is over."),
            202: OpenApiResponse(JobShape, "A job adds it; Location names it."),
            **described.problems(400, 403, 404, 409, 422),
        },
    )
    def post(self, request: Request, key: str) -> Response:
        """For admins. The whole device becomes a physical volume of the group. One that is used, or
        carries a signature of anything, is refused."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        self.demand(Right.ADMINISTER)
        ssd_wish = _wanted(host, request_bodies.read(request, SsdBody))
        dry_run, within = truth(request, "dry_run"), wait_for_job.seconds(request)

        def act() -> Response:
            return wait_for_job.accepted(
                submit_add_ssd(host, ssd_wish, self.requester, dry_run=dry_run), self.user
            )

        answer = act() if dry_run else idempotent_requests.once(request, self.user, act)
        return wait_for_job.out(answer, self, within)


def _wanted(host: Host, values: Json) -> Preparation:
    facts = inventory_of(host)
    if facts is None:
        raise Refused("not_read", "The host was not read yet.", "Wait for its first inventory.")
    form = PreparationForm(facts, values)
    if form.refusal is not None:
        raise form.refusal
    if not form.is_valid() or form.wanted is None:
        raise request_bodies.unprocessable(ValidationError(form.errors.as_data()))
    return form.wanted


class HostEventShape(serializers.Serializer[Json]):
    """One change of a host. `subject` is the serial number where it is of a disk; `count` is how
    often it happened within an hour of `at`."""

    at = serializers.DateTimeField()
    kind = serializers.ChoiceField(choices=HostChangeKind.choices)
    subject = serializers.CharField(allow_blank=True)
    before = serializers.CharField(allow_blank=True)
    after = serializers.CharField(allow_blank=True)
    count = serializers.IntegerField()


class HostEvents(Resource):
    """The time line of a host."""

    staff_only = True
    parameters: ClassVar = {"GET": (*cursor.PARAMETERS, "kind")}

    @extend_schema(
        operation_id="host_events",
        summary="Read the time line of a host",
        parameters=[
            *described.PAGE,
            described.query("kind", "What changed.", enum=HostChangeKind.values),
        ],
        responses={
            200: described.page_of(HostEventShape, "HostEventPage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request, key: str) -> Response:
        """Newest first: restarts, other kernels and versions, disks that came, went or changed. A
        restart into another kernel is one event of the kind `kernel`."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        rows = HostChange.objects.visible_to(self.user).filter(host=host)
        if (kind := request.query_params.get("kind")) is not None:
            if kind not in HostChangeKind.values:
                raise bad_parameter(
                    "kind", "invalid", f"One of {', '.join(HostChangeKind.values)}."
                )
            rows = rows.filter(kind=kind)
        page, after = cursor.page(
            request, rows, "host-events", newest_first=True, order=("at", "id")
        )
        return Response(cursor.body(map(_event_json, page), after))


def _event_json(change: HostChange) -> Json:
    names = ("at", "kind", "subject", "before", "after", "count")
    return HostEventShape({name: getattr(change, name) for name in names}).data


class FaultAcceptanceShape(serializers.Serializer[Json]):
    """Who lives with a fault, and why."""

    at = serializers.DateTimeField()
    by = serializers.CharField()
    reason = serializers.CharField()


class HostFaultShape(serializers.Serializer[Json]):
    """A known fault of the host's kernel or LVM. Where `sure` is false, nobody can tell which
    upstream release the kernel is built from. A fault that is `refusing` refuses new plans that
    rely on it."""

    code = serializers.CharField()
    effect = serializers.ChoiceField(choices=list(EFFECTS))
    technology = serializers.CharField()
    sure = serializers.BooleanField()
    message = serializers.CharField()
    correction = serializers.CharField()
    link = serializers.CharField()
    refusing = serializers.BooleanField()
    acceptance = FaultAcceptanceShape(allow_null=True)


class HostFaultsShape(serializers.Serializer[Json]):
    """What refuses plans comes first."""

    items = HostFaultShape(many=True)


class AcceptFaultBody(request_bodies.Body):
    """Why the risk is taken. The code is repeated, so that nobody takes another one by mistake."""

    reason = serializers.CharField(max_length=REASON_LIMIT)
    confirm_code = serializers.CharField(max_length=64, help_text="The code of the fault again.")


class HostFaults(Resource):
    """Known faults of the kernel and LVM of a host."""

    staff_only = True

    @extend_schema(
        operation_id="host_faults",
        summary="List the known faults of a host's kernel and LVM",
        responses={200: HostFaultsShape, **described.problems(403, 404)},
    )
    def get(self, request: Request, key: str) -> Response:
        """Empty before the first inventory."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        return Response(_faults_json(host))


class FaultAcceptance(Resource):
    """The word of an admin that a host lives with a fault."""

    staff_only = True

    @extend_schema(
        operation_id="host_fault_accept",
        summary="Accept a fault of a host's kernel",
        request=AcceptFaultBody,
        responses={200: HostFaultsShape, **described.problems(403, 404, 422)},
    )
    def put(self, request: Request, key: str, fault: str) -> Response:
        """For admins. Plans of this host that rely on it are no longer refused; data may be lost.
        Only a fault of the effect `data_loss` can be accepted."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        self.demand(Right.ADMINISTER)
        values = request_bodies.read(request, AcceptFaultBody)
        if values["confirm_code"] != fault:
            raise request_bodies.unprocessable(
                ValidationError({"confirm_code": "The code does not match."})
            )
        accepted_faults.accept(host, fault, self.user.email, values["reason"], database_now())
        return Response(_faults_json(host))

    @extend_schema(
        operation_id="host_fault_revoke",
        summary="Take back the acceptance of a fault",
        responses={200: HostFaultsShape, **described.problems(403, 404, 422)},
    )
    def delete(self, request: Request, key: str, fault: str) -> Response:
        """For admins. The fault refuses plans again; jobs that have begun go on."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        self.demand(Right.ADMINISTER)
        accepted_faults.revoke(host, fault)
        return Response(_faults_json(host))


def _faults_json(host: Host) -> Json:
    facts = inventory_of(host)
    listed = () if facts is None else faults_with_decisions(host, facts)
    return HostFaultsShape({"items": [_fault_json(each) for each in listed]}).data


def _fault_json(each: HostFault) -> Json:
    fault = each.present.fault
    return {
        **{name: getattr(fault, name) for name in ("code", "effect", "technology")},
        "sure": each.present.is_sure,
        "message": each.present.message,
        "correction": fault.correction,
        "link": fault.link,
        "refusing": each.is_refusing,
        "acceptance": each.accepted,
    }
