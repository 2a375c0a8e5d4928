"""The shapes of responses. Fields with `required=False` are for staff."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_serializer

from jobs.models import Kind, State, StepState
from panel.api.framework.fields import (
    Anything,
    Boolean,
    Choice,
    DateTime,
    Float,
    Integer,
    Text,
    Texts,
    Time,
)
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

    key = Text("Its name in the API; it never changes.")
    url = Text("Where the API shows it.")
    name = Text("Display name.")


class PersonRef(Ref):
    """An account. `name` is the address where the person entered none."""

    email = Text("E-mail address of the account.")


class CacheShape(Shape):
    """A cache: how much SSD, and what becomes of writes."""

    size_bytes = Integer("Bytes.", null=True)
    mode = Text("What becomes of writes: writethrough, writeback or writearound.")


class WithSettings(Shape):
    """What has the settings of each technology as its last fields."""

    def get_fields(self) -> dict[str, Any]:
        return super().get_fields() | {
            setting.name: self.field_of(technology, setting)
            for technology in TECHNOLOGIES
            for setting in technology.settings
        }

    def field_of(self, technology: Technology, setting: Setting) -> Integer:
        return Integer(technology.name, required=False)


class CacheNow(WithSettings, CacheShape):
    """A cache with the settings of its technology."""


class WishCacheShape(WithSettings):
    """The cache a volume should have."""

    size_bytes = Integer("Rounded up to whole extents of the volume group.", min_value=1)
    mode = Choice("What becomes of writes: writethrough, writeback or writearound.", MODES)


class WishShape(Shape):
    """What a volume should be."""

    cache = WishCacheShape("Null: no cache.", null=True)
    life = Choice("live, retired (switched off, data kept) or gone (wiped and removed).", LIVES)
    size_bytes = Integer("Bytes.", required=False)
    tier = Choice("The disks that hold it.", ["hdd", "ssd"], required=False)


class LastJobShape(Shape):
    """The last job of a volume, dry runs aside."""

    key = Text("Its name in the API; it never changes.")
    url = Text("Where the API shows it.")
    name = Text("Display name.")
    state = Choice("Where it stands now.", State.choices)
    error_code = Text("Why it failed.")


class WishNow(Shape):
    """What a volume is or, while a job holds it, becomes."""

    object = Choice("What this is: a wish.", ["wish"])
    cache = CacheNow("Null: no cache.", null=True)
    life = Choice("live, retired (switched off, data kept) or gone (wiped and removed).", LIVES)
    size_bytes = Integer("Bytes.", required=False)
    tier = Choice("The disks that hold it.", ["hdd", "ssd"], required=False)
    is_met = Boolean(
        "False while a job still has to fulfil the wish, after one that failed, while "
        "the volume is missing, and where it differs from what was recorded (`drift`)."
    )
    job = Ref("The job at work; null: none, and for customers.", null=True)
    last_job = LastJobShape("Of the volume; null for customers.", null=True)


class FiguresShape(Shape):
    """The last interval that was measured; null where nothing can be said."""

    at = DateTime("When it happened.")
    read_iops = Float("Reads a second.", null=True)
    write_iops = Float("Writes a second.", null=True)
    read_ms = Float("Milliseconds that a read took on average.", null=True)
    hit_rate = Float("Share of reads served by the cache, 0 to 1.", null=True)
    waiting_reads = Float(
        "Reads that wait at a time, on average: the wait of its guest.", null=True
    )


class DifferenceShape(Shape):
    """One thing that is not as recorded."""

    what = Text("What differs.")
    recorded = Text("As the panel recorded it.")
    found = Text("As the host has it.")


class WatchShape(Shape):
    """A volume that is watched closely: an interval every ten seconds."""

    watched_until = DateTime("When it ends.")


class VolumeShape(Shape):
    """A volume. What follows `updated_at` is for staff, but for `wish`."""

    key = Text("Its name in the API; it never changes.")
    url = Text("Where the API shows it.")
    label = Text("Display name.")  # type: ignore[assignment]  # a field, no attribute
    size_bytes = Integer("Bytes.")
    customer = Ref("Whose it is; null: nobody's.", null=True)
    external_id = Text("The name of it in your systems; empty where it has none.")
    cache = CacheNow("For staff, with the settings of its technology as it has them.", null=True)
    cache_plan = Ref("What its owner pays for; null: none.", null=True)
    figures = FiguresShape("Null where nothing was measured yet.", null=True)
    created_at = DateTime("When it was made.")
    updated_at = DateTime(
        "When its record or what its host has of it changed last.", required=False
    )
    host = Ref("Null: it is on no host now.", null=True, required=False)
    vg = Text("Its volume group on the host.", required=False)
    lv = Text("Its logical volume on the host.", required=False)
    technology = Choice(
        "Of its cache, or of the one that it can have.", list(SETTINGS), required=False
    )
    layout = Choice(
        "How its data lies on the host; it never changes.", list(LAYOUTS), required=False
    )
    tier = Choice("null: it is not on its host.", TIERS, required=False, null=True)
    state = Choice("Where it stands now.", STATES, required=False)
    guest = Text("The virtual machine and the disk in it, as the host names them.", required=False)
    adopted_at = DateTime(
        "When a person took it into the books; null: Tiercel made it, or nobody did.",
        required=False,
        null=True,
    )
    retired_at = DateTime(
        "When it was switched off; null: it is in use.", required=False, null=True
    )
    undo_until = DateTime(
        "Until then a retired volume cannot be destroyed, only restored.", required=False, null=True
    )
    watched_until = DateTime("Until when it is watched closely.", required=False, null=True)
    job = Ref("The job that changes it now.", required=False, null=True)
    wish = WishNow("With `include=wish`.", required=False)
    drift = DifferenceShape(
        "Differences between the host and the record, also while a job changes the volume.",
        many=True,
        required=False,
    )


class ErrorShape(Shape):
    """What went wrong, and what to do."""

    code = Text("For programs; it never changes its meaning.")
    message = Text("What is wrong, in a sentence for people.")
    correction = Text("What to do, in a sentence for people; empty where nothing is to be done.")


class CommandShape(Shape):
    """One command as the host runs it; `rc` once it has run."""

    argv = Texts("The program and its arguments.")
    shell = Text("The same as one line for a shell.")
    rc = Integer("Exit code; null: it has not ended.", required=False, null=True)


class StepShape(Shape):
    """One step of a job; in a dry run all of them stay planned."""

    n = Integer("Number of the step, from 1.")
    verb = Text("The operation, as the agent names it.")
    title = Text("What it does, in words for people.")
    state = Choice("Where it stands now.", StepState.choices)
    commands = CommandShape("What runs on the host.", many=True)
    progress = Anything(
        "{label, done_bytes, total_bytes}, of a flush also {rate_bytes_s, left_s, "
        "stalled_s} as far as known, or {} where nothing can be measured."
    )
    error = ErrorShape("Why it failed; null: it did not.", null=True)
    started_at = DateTime("When it began; null: it has not yet.", null=True)
    ended_at = DateTime("When it was over; null: it is not yet.", null=True)


class CostShape(Shape):
    """An estimate, as of the last inventory. Other commands of the volume group wait for at most
    `wait_seconds`; `dirty_bytes` is what the cache holds now that the disk has not; `ssd_bytes`
    has to be free on SSD; `final_step` the first one without a way back, null where all can be
    undone."""

    seconds = Float("Seconds that the steps would take.")
    slowest_seconds = Float("The same next to busy guests, which the steps do not slow down.")
    wait_seconds = Float("Seconds that other commands of the volume group wait at most.")
    other_volumes = Integer("In the same volume group.")
    dirty_bytes = Integer("Bytes that the cache holds now and the disk does not.")
    ssd_bytes = Integer("Bytes of SSD that have to be free.")
    ssd_free_bytes = Integer("Bytes of SSD that are free.")
    final_step = Integer(
        "Number of the first step without a way back; null: all can be undone.", null=True
    )


class SsdShape(Shape):
    """An SSD that is added to a volume group."""

    device = Text("Name of the disk on its host, such as sda.")
    serial = Text("Serial number of the disk.")
    vg_uuid = Text("LVM's UUID of the volume group.")
    vg_name = Text("Name of the volume group.")


class MemberShape(Shape):
    """A disk that takes a place in an array: that of `member`, or ("") one that is free."""

    array = Text("Name of the array on its host, such as md0.")
    array_uuid = Text("UUID of the array.")
    member = Text("Name of the disk that it replaces; empty: the place is free.")
    device = Text("Name of the disk on its host, such as sda.")
    serial = Text("Serial number of the disk.")
    vg_uuid = Text("LVM's UUID of the volume group.")
    vg_name = Text("Name of the volume group.")


class JobShape(Shape):
    """A job, or a preview (`dry_run`). `volume` and `wish` are null only where `ssd` or `member`
    says what is added to the host. `host`, `sentence`, `door`, `actor`, `token`, `request_id` and
    `steps` are for staff; lists leave `steps` out. `cost` is what the steps of a preview would
    take."""

    object = Choice("What this is: a job.", ["job"])
    key = Text("Its name in the API; it never changes.")
    url = Text("Where the API shows it.")
    kind = Choice("What it does.", Kind.choices)
    state = Choice("Where it stands now.", State.choices)
    dry_run = Boolean("True: a preview, which changes nothing.")
    volume = Ref("The volume.", null=True)
    wish = WishShape("What the volume is to be afterwards.", null=True)
    ssd = SsdShape("The SSD that it adds to the host.", required=False)
    member = MemberShape("The disk that it puts into an array.", required=False)
    cancel_requested = Boolean("Somebody asked it to end before its end.")
    turned = Boolean("It is past its point of no return: it only goes forward, whoever cancels it.")
    falls_back = Boolean("It goes back to where it began.")
    not_before = DateTime("No worker takes it earlier; null while nothing holds it off.", null=True)
    error = ErrorShape("Why it failed or stopped; null: it did not.", null=True)
    created_at = DateTime("When it was made.")
    started_at = DateTime("When it began; null: it has not yet.", null=True)
    ended_at = DateTime("When it was over; null: it is not yet.", null=True)
    host = Ref("The storage host.", required=False)
    sentence = Text("What it does, in a sentence for people.", required=False)
    door = Text("By which way it was asked for, such as page, API or billing.", required=False)
    actor = Text(
        "E-mail address of who did it; null or empty: the panel itself.", required=False, null=True
    )
    token = Text("Key of the token that asked; empty: none did.", required=False)
    request_id = Text("`X-Request-Id` of the request that asked for it.", required=False)
    steps = StepShape("In the order in which they are done.", many=True, required=False)
    cost = CostShape("An estimate of time and space.", required=False)


class LineShape(Shape):
    """A line of output; `n` counts from 1 within the job."""

    n = Integer("Number of the line in its job, from 1.")
    at = DateTime("When it happened.")
    text = Text("The line of output.")


@extend_schema_serializer(deprecate_fields=["next_after"])
class LinesShape(Shape):
    """Ask again with `cursor` = `next_cursor` until `complete`."""

    lines = LineShape("In the order of their numbers.", many=True)
    next_cursor = Text("The `cursor` of the next request: number of the last line; never null.")
    next_after = Integer("The same as `next_cursor`, as a number.")
    complete = Boolean("True when no line can follow.")


class ProblemOfHost(Shape):
    """Something that is wrong with a host, a volume on it or a job there, as the pages count
    it."""

    code = Text("For programs; it never changes its meaning.")
    severity = Choice("error or warning.", ("error", "warning"))
    message = Text("What is wrong, in a sentence for people.")
    correction = Text("What to do, in a sentence for people; empty where nothing is to be done.")
    since = DateTime("When it began; null: not known.", null=True)
    volume = Ref("Null: it concerns none.", null=True)
    job = Ref("Null: it concerns none.", null=True)


class GroupShape(Shape):
    """A volume group, as of the last inventory."""

    name = Text("Of the volume group.")
    allowed = Boolean("Root lets Tiercel change it.")
    size_bytes = Integer("Bytes.")
    free_ssd_bytes = Integer("Bytes on SSD that nothing uses.")
    free_slow_bytes = Integer("Bytes on slow disks that nothing uses.")


class MaintenanceShape(Shape):
    """Jobs on the host wait until `until`; null until a person ends it."""

    since = DateTime("When it began.")
    until = DateTime("When it ends.", null=True)
    reason = Text("Why, in the words of who said so.")


class WindowShape(Shape):
    """When jobs may begin on a host, every day, in UTC."""

    start = Time("When it begins.", format="%H:%M")
    end = Time("When it ends.", format="%H:%M")


class FingerprintsShape(Shape):
    """Of the host's key: the one that a person accepted, and another one that it showed since."""

    accepted = Text("Of the key that a person accepted; null: none yet.", null=True)
    waiting = Text("Of another key that the host showed since; null: none.", null=True)


class HostShape(Shape):
    """A storage host; lists leave `groups` out."""

    key = Text("Its name in the API; it never changes.")
    url = Text("Where the API shows it.")
    name = Text("Display name.")
    address = Text("Where SSH reaches it.")
    port = Integer("Of SSH.")
    account = Text("The agent's account on the host.")
    state = Choice("Where it stands now.", HOST_STATES)
    site = Text("Where it stands, in your words.")
    tags = Texts("Your words, to find it by.")
    allowed_vgs = Texts("Volume groups that root lets Tiercel change.")
    last_seen_at = DateTime("When it answered last; null: never.", null=True)
    facts_at = DateTime("When its last inventory was read; null: never.", null=True)
    updated_at = DateTime(
        "When its record, its state or its last error changed last; no inventory does."
    )
    error = ErrorShape("Why it was not reached last; null: it was.", null=True)
    maintenance = MaintenanceShape("Null: none.", null=True)
    window = WindowShape("null: jobs may begin at any time.", null=True)
    dirty_limit_percent = Integer(
        "Dirty share of a cache, in percent, above which it is a problem."
    )
    slow_read_ms = Integer(
        "Average time of reads of a volume, in ms, from which on it is a problem."
    )
    busy_percent = Integer(
        "How busy an HDD is for 15 minutes, in percent, from which on it is a problem."
    )
    leaves_writeback = Boolean(
        "Whether Tiercel leaves writeback mode once an SSD mirror lost a disk."
    )
    fingerprints = FingerprintsShape("Of its SSH host key.")
    problems = ProblemOfHost("What is wrong there now.", many=True)
    groups = GroupShape("Its volume groups.", many=True, required=False)


class CustomerShape(Shape):
    """A customer; `external_id` is the billing system's name for it."""

    key = Text("Its name in the API; it never changes.")
    url = Text("Where the API shows it.")
    name = Text("Display name.")
    external_id = Text("The name of it in your systems; empty where it has none.")
    suspended_at = DateTime("Since when no new order is taken.", null=True)
    created_at = DateTime("When it was made.")
    updated_at = DateTime("When it changed last.")


class SuspensionShape(Shape):
    """A customer whose orders are not taken."""

    suspended_at = DateTime("Since when no new order is taken.")


class CachePlanShape(Shape):
    """What is sold: `size_bytes`, or `ratio_percent` of the volume. The price is per month, in
    minor units of the currency. `on_offer` and `hosts` are for staff."""

    key = Text("Its name in the API; it never changes.")
    url = Text("Where the API shows it.")
    name = Text("Display name.")
    description = Text("What it offers, in a sentence for customers.")
    size_bytes = Integer("Bytes.", null=True)
    ratio_percent = Integer(
        "Size in percent of the volume's size; null: `size_bytes` says it.", null=True
    )
    mode = Text("What becomes of writes: writethrough or writeback.")
    tier = Text("Of the volumes it is for.")
    price_minor = Integer("Per month, in minor units (cents) of the currency.")
    currency = Text("ISO 4217, such as EUR.")
    currency_digits = Integer("Decimal places of the currency: with 2, 490 minor units are 4.90.")
    on_offer = Boolean("Whether customers can order it.", required=False)
    hosts = Ref("The hosts that offer it; empty: every host.", many=True, required=False)
