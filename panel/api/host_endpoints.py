"""Storage hosts and the SSDs added to them. Staff only: for anybody else no host exists."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import ClassVar, Final

from django.core.exceptions import ValidationError
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.engine import holds
from jobs.hosts import enrolment
from jobs.problems import problems_of
from jobs.queue.removal import removal_of, remove
from jobs.queue.submit import submit_for_host
from panel.api import request_bodies
from panel.api.framework import described, idempotent_requests, wait_for_job
from panel.api.framework.api_lists import Listing
from panel.api.framework.resource import Resource, chosen_values, truth
from panel.api.framework.shape import Shape
from panel.api.hosts.host_enrolment import EnrolmentShape, NewHostBody, made_host
from panel.api.resource_json import host_json
from panel.api.response_shapes import HOST_STATES, HostShape, JobShape, Json
from panel.models import Scope
from storage.access import Right
from storage.database_clock import database_now
from storage.formatting import counted
from storage.health import accepted_faults
from storage.health.accepted_faults import REASON_LIMIT, HostFault, faults_with_decisions
from storage.models import Host
from storage.models.host import MOST_SLOW_MS, MOST_TAGS, SITE_LIMIT, tags_of
from storage.planner import Refused
from storage.planner.host_wish import HostWish
from storage.planner.kernel_faults import EFFECTS
from storage.stored_inventory import inventory_of
from storage.volumes.disk_offers import DiskOffer, preparations, replacements

OF_OPERATORS: Final = ("site", "tags")
PRESENT = [value for value, _ in HOST_STATES]


class Hosts(Resource):
    """All hosts."""

    read_scope = Scope.HOSTS_READ
    staff_only = True
    write_scope = Scope.HOSTS
    once_only = ("line",)
    listing: ClassVar = Listing(
        "hosts",
        HostShape,
        sorts={"name": "name_order", "updated_at": "updated_at"},
        searched=("name", "site", "address"),
        search_text="Part of the name, the site or the address.",
        updated="updated_at",
        by_keys=True,
    )
    parameters: ClassVar = {"GET": (*listing.parameters, "state", "site", "tag")}
    repeatable: ClassVar = ("state",)
    # Hosts without a site.
    may_be_empty: ClassVar = ("site",)

    @extend_schema(
        operation_id="hosts_list",
        summary="List hosts",
        parameters=[
            *listing.described,
            described.choice("state", "State.", PRESENT),
            described.query("site", "Exact match."),
            described.query("tag", "One of its tags."),
        ],
        responses={
            200: listing.page_shape("HostPage"),
            **described.problems(400, 403, 404),
        },
    )
    def get(self, request: Request) -> Response:
        """Oldest first, without their volume groups."""
        rows = Host.objects.visible_to(self.user).without_inventory()
        if states := chosen_values(request, "state", PRESENT):
            rows = rows.filter(state__in=states)
        if (site := request.query_params.get("site")) is not None:
            rows = rows.filter(site=site)
        if (tag := request.query_params.get("tag")) is not None:
            rows = rows.filter(tags__contains=[tag])
        return self.listing.answer(request, rows, _hosts_json)

    @extend_schema(
        operation_id="host_make",
        summary="Add a host",
        request=NewHostBody,
        responses={201: EnrolmentShape, **described.problems(403, 404, 409, 422)},
    )
    def post(self, request: Request) -> Response:
        """For admins. The answer has the line for a root shell on the host, this once."""
        return made_host(self, request)


def _hosts_json(hosts: list[Host]) -> Iterator[Json]:
    problems = problems_of([host.pk for host in hosts], timezone.now())
    return (host_json(host, problems[host.pk]) for host in hosts)


class WindowBody(request_bodies.Body):
    """When jobs may begin, every day, in UTC; it may span midnight."""

    start = serializers.TimeField(input_formats=["%H:%M"])
    end = serializers.TimeField(input_formats=["%H:%M"])

    def validate(self, attrs: Json) -> Json:
        """A window has a length."""
        if attrs["start"] == attrs["end"]:
            raise serializers.ValidationError({"end": "Start and end differ."}, "invalid")
        return attrs


class HostBody(request_bodies.Body):
    """Words to group and find a host by, for operators; for admins also how it is reached and when
    its jobs may begin."""

    site = serializers.CharField(
        required=False, allow_blank=True, max_length=SITE_LIMIT, help_text="Where the host stands."
    )
    tags = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text=f"Up to {MOST_TAGS} words, all of them anew; kept in small letters, each once.",
    )

    address = serializers.CharField(
        required=False, max_length=255, help_text="Its accepted key stays."
    )
    port = serializers.IntegerField(required=False, min_value=1, max_value=65535)
    window = WindowBody(required=False, allow_null=True, help_text="null: at any time.")
    dirty_limit_percent = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=100,
        help_text="A cache of which more is dirty is a problem.",
    )
    slow_read_ms = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_SLOW_MS,
        help_text="A volume whose reads take this long on average is a problem.",
    )
    busy_percent = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=100,
        help_text="An HDD that is busy for so much of 15 minutes is a problem.",
    )
    leaves_writeback = serializers.BooleanField(
        required=False,
        help_text="Tiercel itself sets caches to writethrough when an SSD mirror loses a disk.",
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

    read_scope = Scope.HOSTS_READ
    staff_only = True
    write_scope = Scope.HOSTS
    measured = ("last_seen_at", "facts_at", "problems", "groups", "error", "updated_at")
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
        summary="Change a host's record",
        request=HostBody,
        responses={200: HostShape, **described.problems(403, 404, 422)},
    )
    def patch(self, request: Request, key: str) -> Response:
        """Site and tags: operators. Address, window, limits and what Tiercel does by itself:
        admins. Nothing on the host changes."""
        host = get_object_or_404(Host.objects.visible_to(self.user).without_inventory(), key=key)
        self.demand(Right.OPERATE)
        values = request_bodies.read(request, HostBody, partial=True)
        if not set(values) <= set(OF_OPERATORS):
            self.demand(Right.ADMINISTER)
        if "address" in values or "port" in values:
            address, port = values.pop("address", host.address), values.pop("port", host.port)
            enrolment.readdress(host, address, port)
        if "window" in values:
            window = values.pop("window") or {"start": None, "end": None}
            holds.set_window(host, window["start"], window["end"])
        if values:
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
    write_scope = Scope.HOSTS
    other_scopes = (Scope.VOLUMES,)
    preview_scope = Scope.PREVIEW
    parameters: ClassVar = {"POST": ("dry_run", "wait")}
    keeps_key = True

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
        ssd_wish = _preparation(host, request_bodies.read(request, SsdBody))
        dry_run, within = truth(request, "dry_run"), wait_for_job.seconds(request)

        def act() -> Response:
            return wait_for_job.accepted(
                submit_for_host(host, ssd_wish, self.requester, dry_run=dry_run), self.user
            )

        once = idempotent_requests.once_if_named if dry_run else idempotent_requests.once
        return wait_for_job.out(once(request, self.user, act), self, within)


class MemberBody(request_bodies.Body):
    """An empty disk, and the member that it is to replace."""

    device = serializers.CharField(
        help_text="The kernel's name of the new disk, as in the last inventory."
    )
    serial = serializers.CharField(
        help_text="The serial number on the new drive's label. It must match the device."
    )
    member = serializers.CharField(
        required=False,
        help_text="The member that works and is to be replaced. Left out where the array is "
        "missing a disk: the new one takes that place.",
    )


class ArrayMembers(Resource):
    """Disks for an array."""

    staff_only = True
    write_scope = Scope.HOSTS
    preview_scope = Scope.PREVIEW
    parameters: ClassVar = {"POST": ("dry_run", "wait")}
    keeps_key = True

    @extend_schema(
        operation_id="host_array_member_replace",
        summary="Replace a disk of an array",
        request=MemberBody,
        parameters=[described.DRY_RUN, described.WAIT, described.IDEMPOTENCY_KEY],
        responses={
            200: OpenApiResponse(JobShape, "With `wait`: the job once it is over."),
            202: OpenApiResponse(JobShape, "A job replaces it; Location names it."),
            **described.problems(400, 403, 404, 409, 422),
        },
    )
    def post(self, request: Request, key: str, array: str) -> Response:
        """For admins, where root on the host allows it. The array stays in use while the kernel
        fills the new disk; the job ends once that is done and the old disk is out. A disk that is
        used, too small, slower, or carries a signature of anything, is refused."""
        host = get_object_or_404(Host.objects.visible_to(self.user), key=key)
        self.demand(Right.ADMINISTER)
        member_wish = _replacement(host, array, request_bodies.read(request, MemberBody))
        dry_run, within = truth(request, "dry_run"), wait_for_job.seconds(request)

        def act() -> Response:
            return wait_for_job.accepted(
                submit_for_host(host, member_wish, self.requester, dry_run=dry_run), self.user
            )

        once = idempotent_requests.once_if_named if dry_run else idempotent_requests.once
        return wait_for_job.out(once(request, self.user, act), self, within)


def _replacement(host: Host, name: str, values: Json) -> HostWish:
    facts = inventory_of(host)
    named = [each for each in facts.arrays if each.name == name] if facts is not None else []
    if facts is None or not named:
        raise Http404
    offer = replacements(facts, named[0], allowed=host.replaces_members)
    if offer.refusal is None and "member" in values and not offer.places:
        raise Refused(
            "degraded",
            f"{name} is missing a disk: as long as it is, no other one is taken out.",
            "Fill the place that is free first: leave out `member`.",
        )
    return _chosen(offer, values)


def _preparation(host: Host, values: Json) -> HostWish:
    facts = inventory_of(host)
    if facts is None:
        raise Refused("not_read", "The host was not read yet.", "Wait for its first inventory.")
    return _chosen(preparations(facts), values)


def _chosen(offer: DiskOffer, values: Json) -> HostWish:
    if offer.refusal is not None:
        raise offer.refusal
    try:
        return offer.wish(values["device"], values["serial"], values.get(offer.place, ""))
    except ValidationError as error:
        raise request_bodies.unprocessable(error) from None


class FaultAcceptanceShape(Shape):
    """Who lives with a fault, and why."""

    at = serializers.DateTimeField()
    by = serializers.CharField()
    reason = serializers.CharField()


class HostFaultShape(Shape):
    """A known fault of the host's kernel or LVM. Where `sure` is false, nobody can tell which
    upstream release the kernel is built from. A fault that is `refusing` refuses new plans that
    rely on it."""

    code = serializers.CharField()
    effect = serializers.ChoiceField(choices=list(EFFECTS), help_text="What may happen.")
    technology = serializers.CharField(help_text="Whose caches it concerns.")
    sure = serializers.BooleanField(
        help_text="False: nobody can tell which upstream release the kernel is built from."
    )
    message = serializers.CharField()
    correction = serializers.CharField()
    link = serializers.CharField(help_text="Where to read of it.")
    refusing = serializers.BooleanField(help_text="Whether new plans that rely on it are refused.")
    acceptance = FaultAcceptanceShape(allow_null=True, help_text="Who lives with it; null: nobody.")


class HostFaultsShape(Shape):
    """What refuses plans comes first."""

    items = HostFaultShape(many=True)


class AcceptFaultBody(request_bodies.Body):
    """Why the risk is taken. The code is repeated, so that nobody takes another one by mistake."""

    reason = serializers.CharField(max_length=REASON_LIMIT)
    confirm_code = serializers.CharField(max_length=64, help_text="The code of the fault again.")


class HostFaults(Resource):
    """Known faults of the kernel and LVM of a host."""

    read_scope = Scope.HOSTS_READ
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
    write_scope = Scope.HOSTS

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
        accepted_faults.accept_fault(host, fault, self.user.email, values["reason"], database_now())
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
        accepted_faults.revoke_acceptance(host, fault)
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
