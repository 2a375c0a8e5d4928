"""Storage hosts. Staff only: for anybody else no host exists."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, ClassVar, Final

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.engine import holds
from jobs.hosts import enrolment
from jobs.hosts.trust import key_fingerprint
from jobs.problems import problems_of
from jobs.queue.job_windows import set_cache_window
from jobs.queue.removal import removal_of, remove
from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import Body
from panel.api.framework.fields import Boolean, Choice, DateTime, Integer, Text, Texts, Time
from panel.api.framework.parameters import Parameter, SomeOf, Truth
from panel.api.framework.refs import Noun, Ref, ref
from panel.api.framework.shape import Json, Shape, show
from panel.api.hosts.host_enrolment import EnrolmentShape, NewHostBody, made_host
from panel.api.hosts.host_resource import HostResource
from panel.api.jobs.job_shape import ErrorShape
from panel.api.jobs.window_shapes import DailyWindowBody, DailyWindowShape, window_of
from storage.access import Right
from storage.database_clock import database_now
from storage.formatting import counted
from storage.models import Host
from storage.models.host import MOST_SLOW_MS, MOST_TAGS, SITE_LIMIT, HostState, tags_of
from storage.planner import Refused
from storage.stored_inventory import inventory_of
from storage.volumes.cache_sizes import free_bytes

HOST_STATES = [each for each in HostState.choices if each[0] != HostState.REMOVED]
OF_OPERATORS: Final = ("site", "tags")


class ProblemOfHost(Shape):
    """A problem of a host, a volume on it or a job there, as the pages count it."""

    code = Text("For programs; it never changes its meaning.")
    severity = Choice("error or warning.", ("error", "warning"))
    message = Text("What is wrong, in a sentence for people.")
    correction = Text("What to do, in a sentence for people; empty where nothing is to be done.")
    since = DateTime("When it began; null: unknown.", null=True)
    volume = Ref(
        "Null: none.",
        of=lambda problem: ref("api-volume", problem.volume_key, problem.subject_label),
        null=True,
    )
    job = Ref(
        "Null: none.",
        of=lambda problem: ref("api-job", problem.job_key, problem.job_kind),
        null=True,
    )


class GroupShape(Shape):
    """A volume group, as of the last inventory."""

    name = Text("Of the volume group.")
    allowed = Boolean("Root lets Tiercel change it.")
    size_bytes = Integer("Bytes.")
    free_ssd_bytes = Integer("Free bytes on SSD.", given=True)
    free_slow_bytes = Integer("Free bytes on slow disks.", given=True)


class MaintenanceShape(Shape):
    """Jobs on the host wait until `until`; null until a person ends it."""

    since = DateTime("When it began.", of="maintenance_since")
    until = DateTime("When it ends.", of="maintenance_until", null=True)
    reason = Text("The reason that the person gives.", of="maintenance_reason")


class WindowShape(Shape):
    """When jobs may begin on a host, every day, in UTC."""

    start = Time("When it begins.", of="window_start", format="%H:%M")
    end = Time("When it ends.", of="window_end", format="%H:%M")


class FingerprintsShape(Shape):
    """Fingerprints of the host's key: the accepted one, and another one that it has shown since."""

    accepted = Text(
        "Of the accepted key; null: none yet.",
        of=lambda host: key_fingerprint(host.host_key) if host.host_key else None,
        null=True,
    )
    waiting = Text(
        "Of another key that the host has shown since; null: none.",
        of=lambda host: key_fingerprint(host.host_key_seen) if host.host_key_seen else None,
        null=True,
    )


def _groups(host: Host) -> list[Json]:
    facts = inventory_of(host)
    if facts is None:
        return []
    return [
        show(
            GroupShape,
            vg,
            free_ssd_bytes=free_bytes(facts, vg.uuid, "fast"),
            free_slow_bytes=free_bytes(facts, vg.uuid, "slow"),
        )
        for vg in facts.vgs
    ]


class HostShape(Noun):
    """A storage host; lists leave `groups` out."""

    name = Text("Display name.")
    address = Text("Where SSH reaches it.")
    port = Integer("Of SSH.")
    account = Text("The agent's account on the host.")
    state = Choice("Its current state.", HOST_STATES)
    site = Text("Its location, in your words.")
    tags = Texts("Your words, for search and filters.")
    allowed_vgs = Texts("Volume groups that root lets Tiercel change.")
    last_seen_at = DateTime("When it last answered; null: never.", null=True)
    facts_at = DateTime("When its last inventory was read; null: never.", null=True)
    updated_at = DateTime(
        "When its record, state or last error last changed; inventories do not count."
    )
    error = ErrorShape(
        "Why the last attempt to reach it failed; null: it succeeded.",
        of=lambda host: host.error or None,
        null=True,
    )
    maintenance = MaintenanceShape(
        "Null: none.", of=lambda host: host if host.in_maintenance else None, null=True
    )
    window = WindowShape(
        "null: jobs may begin at any time.",
        of=lambda host: host if host.window_start is not None else None,
        null=True,
    )
    cache_window = DailyWindowShape(
        "When jobs that flush, remove or replace a cache begin, unless a job has its own window; "
        "null: at any time.",
        null=True,
    )
    dirty_limit_percent = Integer(
        "Dirty share of a cache, in percent, above which it is a problem."
    )
    slow_read_ms = Integer(
        "Average read time of a volume, in ms, from which it is a problem; null: the strictest "
        "limit of its tags, or 20.",
        null=True,
    )
    busy_percent = Integer("How busy an HDD must be for 15 minutes, in percent, to be a problem.")
    leaves_writeback = Boolean(
        "Whether Tiercel sets caches to writethrough when an SSD mirror loses a disk."
    )
    fingerprints = FingerprintsShape("Of its SSH host key.", of=lambda host: host)
    problems = ProblemOfHost("Its current problems.", many=True, given=True)
    groups = GroupShape("Its volume groups.", of=_groups, many=True, detail=True)


class WindowBody(Body):
    """When jobs may begin, every day, in UTC; it may span midnight."""

    start = Time("When it begins.", input_formats=["%H:%M"])
    end = Time("When it ends.", input_formats=["%H:%M"])

    def validate(self, attrs: Json) -> Json:
        """A window has a length."""
        if attrs["start"] == attrs["end"]:
            raise serializers.ValidationError({"end": "Start and end differ."}, "invalid")
        return attrs


class HostBody(Body):
    """Operators change words to group and find a host by; admins also its address and when its jobs
    may begin."""

    site = Text(
        "The location of the host.", required=False, allow_blank=True, max_length=SITE_LIMIT
    )
    tags = Texts(
        f"Up to {MOST_TAGS} words, which replace the current ones; stored in lower case, without "
        "duplicates.",
        required=False,
    )

    address = Text("Its accepted key stays.", required=False, max_length=255)
    port = Integer("TCP port of SSH.", required=False, min_value=1, max_value=65535)
    window = WindowBody("null: at any time.", required=False, null=True)
    cache_window = DailyWindowBody("null: at once.", required=False, null=True)
    dirty_limit_percent = Integer(
        "Dirty share of a cache above which it is a problem.",
        required=False,
        min_value=1,
        max_value=100,
    )
    slow_read_ms = Integer(
        "Average read time from which a volume is a problem. Null: the limit of its tags.",
        required=False,
        null=True,
        min_value=1,
        max_value=MOST_SLOW_MS,
    )
    busy_percent = Integer(
        "How busy an HDD must be for 15 minutes, in percent, to be a problem.",
        required=False,
        min_value=1,
        max_value=100,
    )
    leaves_writeback = Boolean(
        "Tiercel itself sets caches to writethrough when an SSD mirror loses a disk.",
        required=False,
    )

    def validate_tags(self, tags: list[str]) -> list[str]:
        """Each is one word."""
        if any(len(tag.split()) != 1 or "," in tag for tag in tags):
            raise serializers.ValidationError("A tag is one word.", "invalid")
        try:
            return tags_of(" ".join(tags))
        except ValidationError as error:
            raise serializers.ValidationError(error.messages, "invalid") from None


class Hosts(HostResource):
    """All hosts."""

    once_only = ("line",)
    listing: ClassVar = Listing(
        "hosts",
        HostShape,
        sorts={"name": "name_order", "updated_at": "updated_at"},
        searched=("name", "site", "address"),
        search_text="Part of the name, the site or the address.",
        updated="updated_at",
        by_keys=True,
        filters=(
            SomeOf("state", "State.", "state__in", values=[value for value, _ in HOST_STATES]),
            # Empty: hosts without a site.
            Parameter("site", "Exact match.", "site", may_be_empty=True),
            Parameter("tag", "One of its tags.", lambda tag: Q(tags__contains=[tag])),
        ),
    )

    @operation("hosts_list", "List hosts", listing)
    def get(self, request: Request) -> Response:
        """Oldest first, without their volume groups."""
        return self.page(Host.objects.visible_to(self.user).without_inventory(), _with_problems)

    @operation(
        "host_make", "Add a host", EnrolmentShape, status=201, body=NewHostBody, problems=(409,)
    )
    def post(self, request: Request) -> Response:
        """For admins. The answer has the command for a root shell on the host; it is shown only
        once."""
        return made_host(self)


def _with_problems(hosts: list[Host]) -> list[Json]:
    problems = problems_of([host.pk for host in hosts], timezone.now())
    return [show(HostShape, host, problems=problems[host.pk]) for host in hosts]


FORGET_VOLUMES: Final = Truth(
    "forget_volumes",
    "`true`: also if the host has volumes. Their records are kept, their cache plans end.",
)


class OneHost(HostResource):
    """One host: looked at, labelled, removed."""

    measured = ("last_seen_at", "facts_at", "problems", "groups", "error", "updated_at")

    @operation("host", "Show a host", HostShape)
    def get(self, request: Request, key: str) -> Response:
        """With its volume groups, as of the last inventory."""
        host = self.host(key, with_inventory=True)
        return self.shown(host, problems=problems_of([host.pk], timezone.now())[host.pk])

    @operation("host_change", "Change a host's record", HostShape, body=HostBody)
    def patch(self, request: Request, key: str) -> Response:
        """Operators change site and tags; admins also address, window, limits and automatic
        actions. The host is not changed."""
        host = self.host(key, Right.OPERATE)
        values = self.read()
        if not set(values) <= set(OF_OPERATORS):
            self.demand(Right.ADMINISTER)
        if "address" in values or "port" in values:
            address, port = values.pop("address", host.address), values.pop("port", host.port)
            enrolment.readdress(host, address, port)
        if "window" in values:
            window: dict[str, Any] = values.pop("window") or {"start": None, "end": None}
            holds.set_window(host, window["start"], window["end"])
        if "cache_window" in values:
            set_cache_window(host, window_of(values.pop("cache_window")))
        if values:
            Host.objects.filter(pk=host.pk).update(**values)
        return self.get(request, key)

    @operation("host_remove", "Remove a host", parameters=(FORGET_VOLUMES,), problems=(409, 422))
    def delete(self, request: Request, key: str) -> Response:
        """For admins. The host is not changed; its jobs and audit trail are kept. Refused while
        jobs are unfinished, or while the host answers and has customers' volumes."""
        host = self.host(key, Right.ADMINISTER, with_inventory=True)
        now = database_now()
        removal = removal_of(host, now)
        if removal.refusal is None and removal.placements and not FORGET_VOLUMES.of(request):
            raise Refused(
                "in_use",
                f"The records of {counted(len(removal.placements), 'volume')} would be deleted "
                f"with {host}.",
                "Repeat the request with forget_volumes=true.",
            )
        remove(host, removal.digest, now)
        return Response(status=HTTPStatus.NO_CONTENT)
