"""A job as the API shows it."""

from __future__ import annotations

from typing import Any, Final

from jobs.models import Job, Kind, State, StepState
from jobs.queue.cost_estimate import estimate_of
from panel.api.framework.fields import (
    Anything,
    Boolean,
    By,
    Choice,
    DateTime,
    Float,
    Integer,
    Text,
    Texts,
)
from panel.api.framework.refs import Noun, Ref
from panel.api.framework.shape import OMITTED, Json, Shape, show
from panel.api.jobs.window_shapes import DailyWindowShape, WindowEstimateShape, estimate_of_window
from panel.api.volumes.wish_shapes import WishShape
from storage.access import Person, is_staff
from storage.planner.cost import Cost
from storage.planner.wish import Wish

CUSTOMER_ERROR: Final = {
    "message": "The change failed.",
    "correction": "Ask your provider and name the job.",
}


class ErrorShape(Shape):
    """What went wrong, and what to do."""

    code = Text("For programs; it never changes its meaning.")
    message = Text("What is wrong, in a sentence for people.")
    correction = Text("What to do, in a sentence for people; empty where nothing is to be done.")


class CommandShape(Shape):
    """One command as the host runs it; `rc` once it has run."""

    argv = Texts("The program and its arguments.")
    shell = Text("The same as one line for a shell.")
    rc = Integer("Exit code; null: it has not ended.", null=True, required=False)


class StepShape(Shape):
    """One step of a job; in a dry run all of them stay planned."""

    n = Integer("Number of the step, from 1.")
    verb = Text("The operation, as the agent names it.")
    title = Text("What it does, for people.")
    state = Choice("Its current state.", StepState.choices)
    commands = CommandShape(
        "What runs on the host.",
        of=lambda step: [{"rc": None, **command} for command in step.commands],
        many=True,
    )
    progress = Anything(
        "{label, done_bytes, total_bytes}, of a flush also {rate_bytes_s, left_s, "
        "stalled_s} as far as known, or {} where nothing can be measured."
    )
    error = ErrorShape(
        "Why it failed; null: it did not.", of=lambda step: step.error or None, null=True
    )
    started_at = DateTime("When it began; null: it has not yet.", null=True)
    ended_at = DateTime("When it ended; null: it has not yet.", null=True)


class CostShape(Shape):
    """An estimate, as of the last inventory. Other commands of the volume group wait for at most
    `wait_seconds`; `dirty_bytes` is in the cache and not yet on the disk; `ssd_bytes` must be free
    on SSD; `final_step` is the first step that cannot be undone, null if all can."""

    seconds = Float("Seconds that the steps would take.")
    slowest_seconds = Float("The same beside busy guests, which the steps must not slow down.")
    wait_seconds = Float("Seconds that other commands of the volume group wait, at most.")
    other_volumes = Integer("In the same volume group.", of="other_count")
    dirty_bytes = Integer("Bytes that the cache holds now and the disk does not.")
    ssd_bytes = Integer("Bytes of SSD that have to be free.")
    ssd_free_bytes = Integer("Bytes of SSD that are free.")
    final_step = Integer(
        "Number of the first step that cannot be undone; null: all can be undone.", null=True
    )


class SsdShape(Shape):
    """An SSD that is added to a volume group."""

    device = Text("Name of the disk on its host, such as sda.")
    serial = Text("Serial number of the disk.")
    vg_uuid = Text("LVM's UUID of the volume group.")
    vg_name = Text("Name of the volume group.")


class MemberShape(SsdShape):
    """A disk that joins an array: in place of `member`, or ("") in a free place."""

    array = Text("Name of the array on its host, such as md0.")
    array_uuid = Text("UUID of the array.")
    member = Text("Name of the disk that it replaces; empty: the place is free.")


def _is_error(job: Job) -> bool:
    """While a cancelled job rolls back, its `error` only notes from which step on."""
    return "code" in job.error


def _error(job: Job) -> Json | None:
    return job.error if _is_error(job) else None


def _error_for_customers(job: Job) -> Json | None:
    """The code without its words."""
    return {"code": job.error["code"], **CUSTOMER_ERROR} if _is_error(job) else None


def _added(job: Job, kind: Kind) -> Any:
    """What a job of this kind adds to the host; others add nothing."""
    return job.wish if job.kind == kind else OMITTED


def _cost(job: Job) -> Cost | Any:
    cost = estimate_of(job, list(job.step_set.all())) if job.dry_run else None
    return OMITTED if cost is None else cost


class JobShape(Noun):
    """A job, or a preview (`dry_run`). `volume` and `wish` are null only for jobs that add an `ssd`
    or a `member` to the host, and for a benchmark's run. `host`, `sentence`, `door`, `actor`,
    `token`, `request_id` and `steps` are for staff; lists leave `steps` out. `cost` is the
    estimated cost of the steps of a preview; `window_estimate` is left out where there is none."""

    object = Choice("What this is: a job.", ["job"], of=lambda _: "job")
    kind = Choice("What it does.", Kind.choices)
    state = Choice("Its current state.", State.choices)
    dry_run = Boolean("True: a preview, which changes nothing.")
    volume = Ref("The volume.", null=True)
    wish = WishShape(
        "The state of the volume after the job.",
        of=lambda job: None if job.volume is None else Wish.from_json(job.wish),
        null=True,
    )
    ssd = SsdShape(
        "The SSD that it adds to the host.",
        of=lambda job: _added(job, Kind.PREPARE_SSD),
        required=False,
    )
    member = MemberShape(
        "The disk that it puts into an array.",
        of=lambda job: _added(job, Kind.REPLACE_MEMBER),
        required=False,
    )
    cancel_requested = Boolean("Whether its cancellation was requested.")
    turned = Boolean(
        "It is past its point of no return and can no longer be cancelled.", of="is_irrevocable"
    )
    falls_back = Boolean("The job is rolling back.", of="is_rolling_back")
    not_before = DateTime("Earliest time at which a worker takes it; null: no limit.", null=True)
    window = DailyWindowShape(
        "It begins within this time of day, and its flush pauses outside of it; null: at any time.",
        null=True,
    )
    error = ErrorShape(
        "Why it failed or stopped; null: it did not.",
        of=_error,
        customers=_error_for_customers,
        null=True,
    )
    created_at = DateTime("When it was created.")
    started_at = DateTime("When it began; null: it has not yet.", null=True)
    ended_at = DateTime("When it ended; null: it has not yet.", null=True)
    host = Ref("The storage host.", staff=True)
    sentence = Text("What it does, in a sentence for people.", staff=True)
    door = Text(
        "Where the request came from, such as page, API or billing.", of="origin", staff=True
    )
    actor = By("actor.email", null=True, staff=True)
    token = Text("Key of the token of the request; empty: none.", staff=True)
    request_id = Text("`X-Request-Id` of the request that created it.", staff=True)
    steps = StepShape(
        "In the order in which they are done.", of="step_set", many=True, staff=True, detail=True
    )
    cost = CostShape("An estimate of time and space.", of=_cost, staff=True, detail=True)
    window_estimate = WindowEstimateShape(
        "When it begins and ends, if it waits for a window.",
        of=estimate_of_window,
        staff=True,
        detail=True,
    )


def job_json(job: Job, user: Person) -> Json:
    """A job in detail, as the person sees it."""
    return show(JobShape, job, staff=is_staff(user), detail=True)
