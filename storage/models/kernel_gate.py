"""Kernel gates and bisects of kernels: what is measured in which boot of a host."""

from __future__ import annotations

from typing import Final, Self

from django.db import models

from storage.access import Person, is_staff
from storage.benchmarks.boot_part import BootPart
from storage.models.benchmark import Benchmark

KERNEL_LIMIT: Final = 200


class GateKind(models.TextChoices):
    """What a test of kernels finds out."""

    GATE = "gate", "Kernel gate"
    BISECT = "bisect", "Bisect of kernels"


class GateEffect(models.TextChoices):
    """What kernel B was found to do; "" where the runs cannot show it, or not yet."""

    LOSS = "loss", "Slower"
    NONE = "none", "No loss"


class BootState(models.TextChoices):
    """settling -> measuring -> done | void; settling -> void. void: the host restarted, or runs
    failed, before each target had runs enough."""

    SETTLING = "settling", "settling"
    MEASURING = "measuring", "measuring"
    DONE = "done", "done"
    VOID = "void", "ended early"


BOOT_AT_WORK: Final = (BootState.SETTLING, BootState.MEASURING)


class GateQuerySet(models.QuerySet["Gate"]):
    def visible_to(self, user: Person) -> Self:
        return self if is_staff(user) else self.none()


class Gate(models.Model):
    """The kernels that a benchmark compares. Of a gate, `kernels` are A and B ("": the next other
    one, whatever it is); of a bisect all of them in their order, of which the first is good and the
    last is bad, and `answers` are `KernelAnswer` by kernel.

    `slower` and `power`: which slow-down is to be named in which share of cases. `plans` are
    `GatePlan` as JSON, one for each slow-down that can be chosen; `boots_a_side` is null until a
    person chose one. `looked_at_boot` is the boot of the host that was looked at last. `targets`
    are `GateTarget` as JSON once it is over; `acceptance` says who lives with a loss: `at`, `by`,
    `reason`. A bisect measures the one cell called `label`, and takes the boots of kernel A from
    `baseline`."""

    benchmark = models.OneToOneField(Benchmark, on_delete=models.CASCADE, related_name="gate")
    kind = models.CharField(max_length=6, choices=GateKind.choices, default=GateKind.GATE)
    kernels = models.JSONField(default=list)
    slower = models.FloatField(default=0.1)
    power = models.FloatField(default=0.95)
    plans = models.JSONField(default=list, blank=True)
    boots_a_side = models.PositiveSmallIntegerField(null=True, blank=True)
    runs_a_boot = models.PositiveSmallIntegerField(null=True, blank=True)
    looked_at_boot = models.CharField(max_length=64, blank=True)
    effect = models.CharField(max_length=4, choices=GateEffect.choices, blank=True)
    targets = models.JSONField(default=list, blank=True)
    acceptance = models.JSONField(default=dict, blank=True)
    baseline = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="bisects"
    )
    label = models.CharField(max_length=200, blank=True)
    answers = models.JSONField(default=dict, blank=True)

    objects = GateQuerySet.as_manager()

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=models.Q(kind=GateKind.GATE, baseline=None, label="")
                | models.Q(kind=GateKind.BISECT, baseline__isnull=False) & ~models.Q(label=""),
                name="gate_bisect_has_baseline",
            ),
            models.CheckConstraint(
                condition=models.Q(effect__in=["", *GateEffect.values]), name="gate_effect_known"
            ),
        )
        indexes = (
            models.Index(
                fields=("benchmark",), condition=models.Q(effect="loss"), name="gate_with_loss"
            ),
        )

    def __str__(self) -> str:
        return f"gate of {self.benchmark}"

    @property
    def kernel_a(self) -> str:
        """The one that is known to be good."""
        return str(self.kernels[0])

    @property
    def kernel_b(self) -> str:
        """The one that is judged; "" where it is not known yet."""
        return str(self.kernels[-1])


class GateBoot(models.Model):
    """A boot of the host in which a gate measures. `load` are readings of the host's I/O since it
    was seen (`storage.benchmarks.settling`), until it has settled."""

    gate = models.ForeignKey(Gate, on_delete=models.CASCADE, related_name="boots")
    number = models.PositiveSmallIntegerField()
    part = models.CharField(max_length=5, choices=[(each.value, each.label) for each in BootPart])
    kernel = models.CharField(max_length=KERNEL_LIMIT)
    boot_id = models.CharField(max_length=64)
    state = models.CharField(max_length=9, choices=BootState.choices, default=BootState.SETTLING)
    seen_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    load = models.JSONField(default=list, blank=True)
    message = models.CharField(max_length=512, blank=True)

    class Meta:
        ordering = ("number",)
        constraints = (
            models.UniqueConstraint(fields=("gate", "number"), name="gate_boot_number_once"),
            models.UniqueConstraint(
                fields=("gate",),
                condition=models.Q(state__in=BOOT_AT_WORK),
                name="gate_one_boot_at_a_time",
            ),
        )

    def __str__(self) -> str:
        return f"boot {self.number} of {self.gate}"

    @property
    def is_at_work(self) -> bool:
        return self.state in BOOT_AT_WORK
