"""The shapes of responses. Fields with `required=False` are for staff."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from jobs.models import Kind, State, StepState
from panel.api.framework.shape import Shape
from storage.models.host import HostState
from storage.planner.technologies.lookup import SETTINGS, TECHNOLOGIES
from storage.planner.technologies.technology import Setting, Technology
from storage.planner.wish import LAYOUTS

Json = dict[str, Any]
MODES = ("writethrough", "writeback", "writearound")
TIERS = ("hdd", "ssd")
STATES = ("managed", "found", "planned", "previewed", "missing", "retired", "destroyed")
LIVES = ("live", "retired", "gone")
HOST_STATES = [each for each in HostState.choices if each[0] != HostState.REMOVED]


class Ref(Shape):
    """Another noun: wherever an answer names one that has an address, it does so in this way."""

    key = serializers.CharField()
    url = serializers.CharField()
    name = serializers.CharField()


class PersonRef(Ref):
    """An account. `name` is the address where the person entered none."""

    email = serializers.CharField()


class CacheShape(Shape):
    """A cache: how much SSD, and what becomes of writes."""

    size_bytes = serializers.IntegerField(allow_null=True)
    mode = serializers.CharField()


class WithSettings(Shape):
    """What has the settings of each technology as its last fields."""

    def get_fields(self) -> dict[str, Any]:
        return super().get_fields() | {
            setting.name: self.field_of(technology, setting)
            for technology in TECHNOLOGIES
            for setting in technology.settings
        }

    def field_of(self, technology: Technology, setting: Setting) -> serializers.IntegerField:
        return serializers.IntegerField(required=False, help_text=technology.name)


class CacheNow(WithSettings, CacheShape):
    """A cache with the settings of its technology."""


class WishCacheShape(WithSettings):
    """The cache a volume should have."""

    size_bytes = serializers.IntegerField(
        min_value=1, help_text="Rounded up to whole extents of the volume group."
    )
    mode = serializers.ChoiceField(choices=MODES)


class WishShape(Shape):
    """What a volume should be."""

    cache = WishCacheShape(allow_null=True)
    life = serializers.ChoiceField(choices=LIVES)
    size_bytes = serializers.IntegerField(required=False)
    tier = serializers.ChoiceField(
        choices=["hdd", "ssd"], required=False, help_text="The disks that hold it."
    )


class LastJobShape(Shape):
    """The last job of a volume, dry runs aside."""

    key = serializers.CharField()
    url = serializers.CharField()
    name = serializers.CharField()
    state = serializers.ChoiceField(choices=State.choices)
    error_code = serializers.CharField(allow_blank=True, help_text="Why it failed.")


class WishNow(Shape):
    """What a volume is or, while a job holds it, becomes."""

    object = serializers.ChoiceField(choices=["wish"], help_text="What this is: a wish.")
    cache = CacheNow(allow_null=True)
    life = serializers.ChoiceField(choices=LIVES)
    size_bytes = serializers.IntegerField(required=False)
    tier = serializers.ChoiceField(
        choices=["hdd", "ssd"], required=False, help_text="The disks that hold it."
    )
    is_met = serializers.BooleanField(
        help_text="False while a job still has to fulfil the wish, after one that failed, while "
        "the volume is missing, and where it differs from what was recorded (`drift`)."
    )
    job = Ref(allow_null=True, help_text="The job at work; null: none, and for customers.")
    last_job = LastJobShape(allow_null=True, help_text="Of the volume; null for customers.")


class FiguresShape(Shape):
    """The last interval that was measured; null where nothing can be said."""

    at = serializers.DateTimeField()
    read_iops = serializers.FloatField(allow_null=True, help_text="Reads a second.")
    write_iops = serializers.FloatField(allow_null=True, help_text="Writes a second.")
    read_ms = serializers.FloatField(
        allow_null=True, help_text="Milliseconds that a read took on average."
    )
    hit_rate = serializers.FloatField(
        allow_null=True, help_text="Share of reads served by the cache, 0 to 1."
    )
    waiting_reads = serializers.FloatField(
        allow_null=True, help_text="Reads that wait at a time, on average: the wait of its guest."
    )


class DifferenceShape(Shape):
    """One thing that is not as recorded."""

    what = serializers.CharField(help_text="What differs.")
    recorded = serializers.CharField(help_text="As the panel recorded it.")
    found = serializers.CharField(help_text="As the host has it.")


class WatchShape(Shape):
    """A volume that is watched closely: an interval every ten seconds."""

    watched_until = serializers.DateTimeField(help_text="When it ends.")


class VolumeShape(Shape):
    """A volume. What follows `updated_at` is for staff, but for `wish`."""

    key = serializers.CharField()
    url = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field, no attribute
    size_bytes = serializers.IntegerField()
    customer = Ref(allow_null=True, help_text="Whose it is; null: nobody's.")
    external_id = serializers.CharField(allow_blank=True)
    cache = CacheNow(
        allow_null=True, help_text="For staff, with the settings of its technology as it has them."
    )
    cache_plan = Ref(allow_null=True, help_text="What its owner pays for; null: none.")
    figures = FiguresShape(allow_null=True, help_text="Null where nothing was measured yet.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField(
        required=False, help_text="When its record or what its host has of it changed last."
    )
    host = Ref(allow_null=True, required=False, help_text="Null: it is on no host now.")
    vg = serializers.CharField(
        required=False, allow_blank=True, help_text="Its volume group on the host."
    )
    lv = serializers.CharField(
        required=False, allow_blank=True, help_text="Its logical volume on the host."
    )
    technology = serializers.ChoiceField(
        choices=list(SETTINGS),
        required=False,
        help_text="Of its cache, or of the one that it can have.",
    )
    layout = serializers.ChoiceField(
        choices=list(LAYOUTS),
        required=False,
        help_text="How its data lies on the host; it never changes.",
    )
    tier = serializers.ChoiceField(
        choices=TIERS, required=False, allow_null=True, help_text="null: it is not on its host."
    )
    state = serializers.ChoiceField(choices=STATES, required=False)
    guest = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="The virtual machine and the disk in it, as the host names them.",
    )
    adopted_at = serializers.DateTimeField(
        required=False,
        allow_null=True,
        help_text="When a person took it into the books; null: Tiercel made it, or nobody did.",
    )
    retired_at = serializers.DateTimeField(
        required=False, allow_null=True, help_text="When it was switched off; null: it is in use."
    )
    undo_until = serializers.DateTimeField(
        required=False,
        allow_null=True,
        help_text="Until then a retired volume cannot be destroyed, only restored.",
    )
    watched_until = serializers.DateTimeField(
        required=False, allow_null=True, help_text="Until when it is watched closely."
    )
    job = Ref(required=False, allow_null=True, help_text="The job that changes it now.")
    wish = WishNow(required=False, help_text="With `include=wish`.")
    drift = DifferenceShape(
        many=True,
        required=False,
        help_text="Differences between the host and the record, also while a job changes the "
        "volume.",
    )


class ErrorShape(Shape):
    """What went wrong, and what to do."""

    code = serializers.CharField()
    message = serializers.CharField()
    correction = serializers.CharField(allow_blank=True)


class CommandShape(Shape):
    """One command as the host runs it; `rc` once it has run."""

    argv = serializers.ListField(child=serializers.CharField())
    shell = serializers.CharField(help_text="The same as one line for a shell.")
    rc = serializers.IntegerField(required=False, allow_null=True)


class StepShape(Shape):
    """One step of a job; in a dry run all of them stay planned."""

    n = serializers.IntegerField(help_text="Number of the step, from 1.")
    verb = serializers.CharField(help_text="The operation, as the agent names it.")
    title = serializers.CharField(help_text="What it does, in words for people.")
    state = serializers.ChoiceField(choices=StepState.choices)
    commands = CommandShape(many=True, help_text="What runs on the host.")
    progress = serializers.JSONField(
        help_text="{label, done_bytes, total_bytes}, of a flush also {rate_bytes_s, left_s, "
        "stalled_s} as far as known, or {} where nothing can be measured."
    )
    error = ErrorShape(allow_null=True, help_text="Why it failed; null: it did not.")
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class CostShape(Shape):
    """An estimate, as of the last inventory. Other commands of the volume group wait for at most
    `wait_seconds`; `dirty_bytes` is what the cache holds now that the disk has not; `ssd_bytes`
    has to be free on SSD; `final_step` the first one without a way back, null where all can be
    undone."""

    seconds = serializers.FloatField(help_text="Seconds that the steps would take.")
    slowest_seconds = serializers.FloatField(
        help_text="The same next to busy guests, which the steps do not slow down."
    )
    wait_seconds = serializers.FloatField(
        help_text="Seconds that other commands of the volume group wait at most."
    )
    other_volumes = serializers.IntegerField(help_text="In the same volume group.")
    dirty_bytes = serializers.IntegerField(
        help_text="Bytes that the cache holds now and the disk does not."
    )
    ssd_bytes = serializers.IntegerField(help_text="Bytes of SSD that have to be free.")
    ssd_free_bytes = serializers.IntegerField(help_text="Bytes of SSD that are free.")
    final_step = serializers.IntegerField(
        allow_null=True,
        help_text="Number of the first step without a way back; null: all can be undone.",
    )


class SsdShape(Shape):
    """An SSD that is added to a volume group."""

    device = serializers.CharField()
    serial = serializers.CharField()
    vg_uuid = serializers.CharField()
    vg_name = serializers.CharField()


class MemberShape(Shape):
    """A disk that takes a place in an array: that of `member`, or ("") one that is free."""

    array = serializers.CharField()
    array_uuid = serializers.CharField(help_text="UUID of the array.")
    member = serializers.CharField(
        allow_blank=True, help_text="Name of the disk that it replaces; empty: the place is free."
    )
    device = serializers.CharField()
    serial = serializers.CharField()
    vg_uuid = serializers.CharField()
    vg_name = serializers.CharField()


class JobShape(Shape):
    """A job, or a preview (`dry_run`). `volume` and `wish` are null only where `ssd` or `member`
    says what is added to the host. `host`, `sentence`, `door`, `actor`, `token`, `request_id` and
    `steps` are for staff; lists leave `steps` out. `cost` is what the steps of a preview would
    take."""

    object = serializers.ChoiceField(choices=["job"], help_text="What this is: a job.")
    key = serializers.CharField()
    url = serializers.CharField()
    kind = serializers.ChoiceField(choices=Kind.choices, help_text="What it does.")
    state = serializers.ChoiceField(choices=State.choices)
    dry_run = serializers.BooleanField(help_text="True: a preview, which changes nothing.")
    volume = Ref(allow_null=True)
    wish = WishShape(allow_null=True, help_text="What the volume is to be afterwards.")
    ssd = SsdShape(required=False, help_text="The SSD that it adds to the host.")
    member = MemberShape(required=False, help_text="The disk that it puts into an array.")
    cancel_requested = serializers.BooleanField(
        help_text="Somebody asked it to end before its end."
    )
    turned = serializers.BooleanField(
        help_text="It is past its point of no return: it only goes forward, whoever cancels it."
    )
    falls_back = serializers.BooleanField(help_text="It goes back to where it began.")
    not_before = serializers.DateTimeField(
        allow_null=True, help_text="No worker takes it earlier; null while nothing holds it off."
    )
    error = ErrorShape(allow_null=True, help_text="Why it failed or stopped; null: it did not.")
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    host = Ref(required=False)
    sentence = serializers.CharField(
        required=False, help_text="What it does, in a sentence for people."
    )
    door = serializers.CharField(required=False)
    actor = serializers.CharField(required=False, allow_null=True)
    token = serializers.CharField(required=False, allow_blank=True)
    request_id = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="`X-Request-Id` of the request that asked for it.",
    )
    steps = StepShape(many=True, required=False, help_text="In the order in which they are done.")
    cost = CostShape(required=False, help_text="An estimate of time and space.")


class LineShape(Shape):
    """A line of output; `n` counts from 1 within the job."""

    n = serializers.IntegerField(help_text="Number of the line in its job, from 1.")
    at = serializers.DateTimeField()
    text = serializers.CharField(
        allow_blank=True, trim_whitespace=False, help_text="The line of output."
    )


@extend_schema_serializer(deprecate_fields=["next_after"])
class LinesShape(Shape):
    """Ask again with `cursor` = `next_cursor` until `complete`."""

    lines = LineShape(many=True, help_text="In the order of their numbers.")
    next_cursor = serializers.CharField(
        help_text="The `cursor` of the next request: number of the last line; never null."
    )
    next_after = serializers.IntegerField(help_text="The same as `next_cursor`, as a number.")
    complete = serializers.BooleanField(help_text="True when no line can follow.")


class ProblemOfHost(Shape):
    """Something that is wrong with a host, a volume on it or a job there, as the pages count
    it."""

    code = serializers.CharField()
    severity = serializers.ChoiceField(choices=("error", "warning"))
    message = serializers.CharField()
    correction = serializers.CharField(allow_blank=True)
    since = serializers.DateTimeField(allow_null=True, help_text="When it began; null: not known.")
    volume = Ref(allow_null=True, help_text="Null: it concerns none.")
    job = Ref(allow_null=True, help_text="Null: it concerns none.")


class GroupShape(Shape):
    """A volume group, as of the last inventory."""

    name = serializers.CharField(help_text="Of the volume group.")
    allowed = serializers.BooleanField(help_text="Root lets Tiercel change it.")
    size_bytes = serializers.IntegerField()
    free_ssd_bytes = serializers.IntegerField(help_text="Bytes on SSD that nothing uses.")
    free_slow_bytes = serializers.IntegerField(help_text="Bytes on slow disks that nothing uses.")


class MaintenanceShape(Shape):
    """Jobs on the host wait until `until`; null until a person ends it."""

    since = serializers.DateTimeField()
    until = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField()


class WindowShape(Shape):
    """When jobs may begin on a host, every day, in UTC."""

    start = serializers.TimeField(format="%H:%M")
    end = serializers.TimeField(format="%H:%M")


class FingerprintsShape(Shape):
    """Of the host's key: the one that a person accepted, and another one that it showed since."""

    accepted = serializers.CharField(
        allow_null=True, help_text="Of the key that a person accepted; null: none yet."
    )
    waiting = serializers.CharField(
        allow_null=True, help_text="Of another key that the host showed since; null: none."
    )


class HostShape(Shape):
    """A storage host; lists leave `groups` out."""

    key = serializers.CharField()
    url = serializers.CharField()
    name = serializers.CharField()
    address = serializers.CharField(help_text="Where SSH reaches it.")
    port = serializers.IntegerField(help_text="Of SSH.")
    account = serializers.CharField(help_text="The agent's account on the host.")
    state = serializers.ChoiceField(choices=HOST_STATES)
    site = serializers.CharField(allow_blank=True, help_text="Where it stands, in your words.")
    tags = serializers.ListField(
        child=serializers.CharField(), help_text="Your words, to find it by."
    )
    allowed_vgs = serializers.ListField(
        child=serializers.CharField(), help_text="Volume groups that root lets Tiercel change."
    )
    last_seen_at = serializers.DateTimeField(
        allow_null=True, help_text="When it answered last; null: never."
    )
    facts_at = serializers.DateTimeField(
        allow_null=True, help_text="When its last inventory was read; null: never."
    )
    updated_at = serializers.DateTimeField(
        help_text="When its record, its state or its last error changed last; no inventory does."
    )
    error = ErrorShape(allow_null=True, help_text="Why it was not reached last; null: it was.")
    maintenance = MaintenanceShape(allow_null=True, help_text="Null: none.")
    window = WindowShape(allow_null=True, help_text="null: jobs may begin at any time.")
    dirty_limit_percent = serializers.IntegerField(
        help_text="Dirty share of a cache, in percent, above which it is a problem."
    )
    slow_read_ms = serializers.IntegerField(
        help_text="Average time of reads of a volume, in ms, from which on it is a problem."
    )
    busy_percent = serializers.IntegerField(
        help_text="How busy an HDD is for 15 minutes, in percent, from which on it is a problem."
    )
    leaves_writeback = serializers.BooleanField(
        help_text="Whether Tiercel leaves writeback mode once an SSD mirror lost a disk."
    )
    fingerprints = FingerprintsShape(help_text="Of its SSH host key.")
    problems = ProblemOfHost(many=True, help_text="What is wrong there now.")
    groups = GroupShape(many=True, required=False, help_text="Its volume groups.")


class CustomerShape(Shape):
    """A customer; `external_id` is the billing system's name for it."""

    key = serializers.CharField()
    url = serializers.CharField()
    name = serializers.CharField()
    external_id = serializers.CharField(allow_blank=True)
    suspended_at = serializers.DateTimeField(
        allow_null=True, help_text="Since when no new order is taken."
    )
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class SuspensionShape(Shape):
    """A customer whose orders are not taken."""

    suspended_at = serializers.DateTimeField(help_text="Since when no new order is taken.")


class CachePlanShape(Shape):
    """What is sold: `size_bytes`, or `ratio_percent` of the volume. The price is per month, in
    minor units of the currency. `on_offer` and `hosts` are for staff."""

    key = serializers.CharField()
    url = serializers.CharField()
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    size_bytes = serializers.IntegerField(allow_null=True)
    ratio_percent = serializers.IntegerField(allow_null=True)
    mode = serializers.CharField(help_text="What becomes of writes: writethrough or writeback.")
    tier = serializers.CharField(help_text="Of the volumes it is for.")
    price_minor = serializers.IntegerField()
    currency = serializers.CharField()
    currency_digits = serializers.IntegerField()
    on_offer = serializers.BooleanField(required=False)
    hosts = Ref(many=True, required=False, help_text="The hosts that offer it; empty: every host.")
