"""Kernel gates and bisects of kernels: ordered, planned, watched; what was lost is accepted."""

from __future__ import annotations

from typing import ClassVar

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.benchmarks.gate_figures import gate_progress_of
from jobs.benchmarks.gate_order import (
    MOST_BOOTS_A_SIDE,
    MOST_KERNELS,
    REASON_LIMIT,
    accept_regression,
    choose_plan,
    order_bisect,
    order_gate,
    revoke_regression,
    skip_kernel,
)
from jobs.benchmarks.gate_steps import bisect_of
from panel.api.benchmarks.benchmark_bodies import MatrixBody
from panel.api.benchmarks.benchmark_endpoints import BenchmarkResource
from panel.api.framework.api_lists import Listing
from panel.api.framework.api_operations import operation
from panel.api.framework.bodies import Body
from panel.api.framework.fields import (
    Boolean,
    By,
    Choice,
    DateTime,
    Float,
    Integer,
    List,
    Text,
    Texts,
)
from panel.api.framework.parameters import OneOf, Parameter
from panel.api.framework.refs import Noun, Ref
from panel.api.framework.shape import Shape
from storage.access import Right
from storage.analysis.comparison import Word
from storage.benchmarks.gate import LEAST_BOOTS
from storage.database_clock import database_now
from storage.models import Benchmark, BenchmarkState, GateEffect, GateKind
from storage.models.benchmark import TITLE_LIMIT
from storage.models.kernel_gate import KERNEL_LIMIT


class GatePlanShape(Shape):
    """The cost of a plan, based on the pilot."""

    slower = Float("The slow-down that it detects, as a share.", of=lambda plan: plan["slower"])
    power = Float(
        "The share of cases in which it detects it (statistical power).",
        of=lambda plan: plan["power"],
    )
    boots_a_side = Integer("Boots of each kernel.", of=lambda plan: plan["boots_a_side"])
    runs_a_boot = Integer("Runs of each target in a boot.", of=lambda plan: plan["runs_a_boot"])
    seconds = Float("Seconds in total, without your restarts.", of=lambda plan: plan["seconds"])


class GateTargetShape(Shape):
    """The verdict on one target, kernel B against kernel A."""

    target = Text("The target with its settings.", of=lambda target: target["label"])
    word = Choice("The verdict.", [word.value for word in Word], of=lambda target: target["word"])
    sentence = Text("The verdict, for people.", of=lambda target: target["sentence"])
    q = Float(
        "The false discovery rate of the verdict; null: nothing was compared.",
        of=lambda target: target["q"],
        null=True,
    )
    is_alarm = Boolean("Whether it is a regression.", of=lambda target: target["is_alarm"])
    lacks = Text("Why a slow-down is not a regression yet.", of=lambda target: target["lacks"])
    iops_before = Float("IOPS with kernel A.", of=lambda target: target["iops"][0])
    iops_after = Float("IOPS with kernel B.", of=lambda target: target["iops"][1])
    lost = Text("The loss, in figures.", of=lambda target: target["lost"])


class GateBootShape(Shape):
    """A boot of the host in which it measures."""

    number = Integer("Counts from 1.")
    part = Text("The part of the gate that it belongs to: `pilot`, `a`, `b` or `step`.")
    kernel = Text("Release of its kernel.")
    state = Text("`settling`, `measuring`, `done` or `void`.")
    seen_at = DateTime("When the panel first saw it.")


class GateAcceptanceShape(Shape):
    """Who accepted a loss, and why."""

    at = DateTime("When it happened.")
    by = By()
    reason = Text("The reason that the person gives.")


class GateShape(Noun):
    """Two kernels compared by boots, or a bisect of kernels. It is a benchmark with the same key
    and runs in several boots."""

    title = Text("A title for people.", of=str)
    host = Ref("Where it runs.")
    kind = Choice("Gate or bisect.", GateKind.choices, of="gate.kind")
    state = Choice("Its current state.", BenchmarkState.choices)
    message = Text("What it waits for, such as a restart, as a sentence for people.")
    kernels = Texts(
        "A and B of a gate, all of a bisect; B may be empty until the host runs it.",
        of="gate.kernels",
    )
    boots_a_side = Integer("Null before a plan is chosen.", of="gate.boots_a_side", null=True)
    boots_left = Integer(
        "Null before a plan is chosen.",
        of=lambda row: gate_progress_of(row.gate).boots_left,
        null=True,
    )
    effect = Choice(
        "Whether kernel B is slower; null: the runs cannot show it, or not yet.",
        GateEffect.choices,
        null=True,
        of=lambda row: row.gate.effect or None,
    )
    plans = GatePlanShape("The plans to choose from, after the pilot.", of="gate.plans", many=True)
    targets = GateTargetShape("The verdicts, once it has ended.", of="gate.targets", many=True)
    acceptance = GateAcceptanceShape(
        "Who accepted a loss; null: no one.",
        of=lambda row: row.gate.acceptance or None,
        null=True,
    )
    sentence = Text(
        "For a bisect, which kernel brought the slow-down; empty for a gate.",
        of=lambda row: bisect_of(row.gate).sentence if row.gate.kind == GateKind.BISECT else "",
    )
    created_at = DateTime("When it was created.")
    boots = GateBootShape(
        "In their order.", of=lambda row: row.gate.boots.all(), many=True, detail=True
    )


class GateBody(MatrixBody):
    """What to measure in each boot; `repeats` are those of the plan."""

    title = Text("A title for people.", max_length=TITLE_LIMIT, default="", allow_blank=True)
    kernel_b = Text(
        "The kernel to test; empty: the next one that the host boots.",
        max_length=KERNEL_LIMIT,
        default="",
        allow_blank=True,
    )
    boots_a_side = Integer(
        "Boots of each kernel; null: a pilot of two boots determines the number.",
        min_value=LEAST_BOOTS,
        max_value=MOST_BOOTS_A_SIDE,
        allow_null=True,
        default=None,
    )


class GatePlanBody(Body):
    """One of `plans`."""

    slower = Float("The slow-down to detect, as a share.")


class GateAcceptanceBody(Body):
    """Why the loss is accepted."""

    reason = Text("The reason that the person gives.", max_length=REASON_LIMIT)


class KernelSkipBody(Body):
    """A kernel that cannot be measured."""

    kernel = Text("The next one of the bisect.", max_length=KERNEL_LIMIT)


class BisectBody(Body):
    """Kernels in their order."""

    target = Text("The target that became slower, as the gate calls it.", max_length=200)
    kernels = List(
        "The first is kernel A of the gate, the last is slower.",
        Text("A release.", max_length=KERNEL_LIMIT),
        max_length=MOST_KERNELS,
    )


class GateResource(BenchmarkResource):
    """Of gates."""

    def benchmarks(self) -> QuerySet[Benchmark]:
        """Those that are gates or bisects."""
        rows = Benchmark.objects.visible_to(self.user).filter(gate__isnull=False)
        return rows.select_related("host", "actor", "gate")


class Gates(GateResource):
    """All gates and bisects."""

    needs_key = True
    listing: ClassVar = Listing(
        "gates",
        GateShape,
        newest_first=True,
        filters=(
            Parameter("host", "Key of a host.", "host__key"),
            OneOf("state", "Their state.", "state", values=BenchmarkState.values),
        ),
    )

    @operation("gates", "List kernel gates and bisects", listing)
    def get(self, request: Request) -> Response:
        """Newest first."""
        return self.page(self.benchmarks())

    @operation(
        "gate_order",
        "Order a kernel gate",
        GateShape,
        status=202,
        body=GateBody,
        problems=(409, 422),
    )
    def post(self, request: Request) -> Response:
        """For operators. Kernel A is the one that the host runs now. You restart the host; the
        panel detects and measures each new boot. Without `boots_a_side`, choose one of `plans`
        after the pilot."""
        host, spec, body = self.asked()
        made = order_gate(
            host,
            spec,
            self.requester,
            kernel_b=body["kernel_b"],
            boots_a_side=body["boots_a_side"],
            title=body["title"],
        )
        return self.shown(self.benchmark(made.benchmark.key), status=202)


class OneGate(GateResource):
    """A gate or bisect."""

    measured = ("state", "message", "boots_left", "effect", "plans", "targets", "boots")

    @operation("gate", "Show a kernel gate or bisect", GateShape)
    def get(self, request: Request, key: str) -> Response:
        """`effect` says whether kernel B is slower, `targets` by how much."""
        return self.shown(self.benchmark(key))


class GatePlanChoice(GateResource):
    """How much it may take."""

    @operation(
        "gate_plan", "Choose the plan of a kernel gate", GateShape, body=GatePlanBody, status=200
    )
    def post(self, request: Request, key: str) -> Response:
        """For operators."""
        choose_plan(self.benchmark(key, Right.OPERATE).gate, self.read()["slower"])
        return self.shown(self.benchmark(key))


class KernelSkip(GateResource):
    """A kernel of a bisect is open no longer."""

    @operation(
        "gate_skip", "Skip the next kernel of a bisect", GateShape, body=KernelSkipBody, status=200
    )
    def post(self, request: Request, key: str) -> Response:
        """For operators. For example, a kernel that does not boot."""
        skip_kernel(self.benchmark(key, Right.OPERATE).gate, self.read()["kernel"])
        return self.shown(self.benchmark(key))


class GateBisect(GateResource):
    """Which kernel brought a loss."""

    @operation(
        "gate_bisect", "Bisect kernels", GateShape, body=BisectBody, status=202, problems=(409,)
    )
    def post(self, request: Request, key: str) -> Response:
        """For operators. One boot of each kernel is compared with the gate's boots of kernel A."""
        gate, body = self.benchmark(key, Right.OPERATE).gate, self.read()
        made = order_bisect(gate, body["target"], body["kernels"], self.requester)
        return self.shown(self.benchmark(made.benchmark.key), status=202)


class GateAcceptance(GateResource):
    """Acceptance of a regression, and its end."""

    @operation("gate_accept", "Accept what a kernel gate found", GateShape, body=GateAcceptanceBody)
    def put(self, request: Request, key: str) -> Response:
        """For operators. Ends the problem `kernel_regression`."""
        gate = self.benchmark(key, Right.OPERATE).gate
        accept_regression(gate, self.user.email, self.read()["reason"], database_now())
        return self.shown(self.benchmark(key))

    @operation("gate_revoke", "Take back the acceptance of a loss", GateShape, problems=(422,))
    def delete(self, request: Request, key: str) -> Response:
        """For operators. The regression is reported again."""
        revoke_regression(self.benchmark(key, Right.OPERATE).gate)
        return self.shown(self.benchmark(key))
