"""The forms of kernel gates and bisects."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.forms.boundfield import BoundField

from jobs.benchmarks.gate_order import MOST_BOOTS_A_SIDE, REASON_LIMIT
from panel.benchmarks.target_presets import GATED
from panel.staff.benchmarks.order_form import NUMBERS, BenchmarkForm
from storage.benchmarks.gate import LEAST_BOOTS
from storage.models.kernel_gate import KERNEL_LIMIT
from storage.name_validators import demand_lines, demand_plain

USUAL_MINUTES: Final = 5
USUAL_GIB: Final = "1"


class GateForm(BenchmarkForm):
    """What to measure in each boot; each target more than once. The kernel that runs now is A."""

    repeats = forms.IntegerField(required=False, widget=forms.HiddenInput)
    kernel_b = forms.CharField(
        required=False,
        max_length=KERNEL_LIMIT,
        validators=[demand_plain],
        label="Kernel to judge",
        help_text="As shown by uname -r. Empty: the next kernel that the host boots.",
    )
    boots_a_side = forms.IntegerField(
        required=False,
        min_value=LEAST_BOOTS,
        max_value=MOST_BOOTS_A_SIDE,
        label="Boots of each kernel",
        help_text="Empty: two boots of the running kernel determine the number.",
    )

    def __init__(self, user: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        usual: dict[str, Any] = {"targets": list(GATED), "data_gib": USUAL_GIB}
        usual |= {"cache_gib": USUAL_GIB, "minutes": USUAL_MINUTES, "warm_minutes": USUAL_MINUTES}
        for name, value in usual.items():
            self.fields[name].initial = value

    @property
    def number_fields(self) -> list[BoundField]:
        """Without repeats: the plan says how many there are in a boot."""
        return [self[name] for name in NUMBERS if name != "repeats"]

    def clean(self) -> dict[str, Any]:
        """The matrix of one boot."""
        self.cleaned_data["repeats"] = 1
        return super().clean()


class AcceptRegressionForm(forms.Form):
    """Why one lives with it."""

    reason = forms.CharField(
        max_length=REASON_LIMIT,
        label="Reason",
        validators=[demand_plain],
        error_messages={"required": "Enter a reason. It is kept with the gate."},
    )


class BisectForm(forms.Form):
    """Kernels in their order, one a line, and the target that became slower."""

    label = forms.ChoiceField(label="Target")
    kernels = forms.CharField(
        widget=forms.Textarea({"rows": 6}),
        max_length=8000,
        validators=[demand_lines],
        help_text="One per line, in order, as shown by uname -r. The first is the good one.",
    )

    def __init__(self, labels: list[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["label"].choices = [(each, each) for each in labels]  # type: ignore[attr-defined]

    def clean_kernels(self) -> list[str]:
        """Without empty lines."""
        lines = self.cleaned_data["kernels"].splitlines()
        return [line.strip() for line in lines if line.strip()]
