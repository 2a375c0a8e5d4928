"""The form that orders a benchmark."""

from __future__ import annotations

import re
from datetime import time
from typing import Any, Final

from django import forms
from django.forms.boundfield import BoundField

from panel.benchmarks.asked_matrix import (
    USUAL_DEPTH,
    USUAL_JOBS,
    USUAL_REPEATS,
    USUAL_SECONDS,
    AskedMatrix,
)
from panel.benchmarks.benchmark_words import ABOUT_STATES, STATES
from panel.benchmarks.replayed_heat import replay_limit, replayed_heat
from panel.benchmarks.target_presets import EVENING, PRESETS
from storage.agent.benchmark.profiles import PROFILES, OwnJob, read_job_file
from storage.benchmarks.heat_profile import HeatFigures
from storage.benchmarks.matrix import (
    MOST_DEPTH,
    MOST_JOBS,
    MOST_REPEATS,
    CacheState,
    Profile,
    Spec,
)
from storage.byte_sizes import GIB, MIB
from storage.models.benchmark import TITLE_LIMIT
from storage.name_validators import demand_plain
from storage.planner import Refused
from storage.planner.daily_window import BadWindow, DailyWindow
from storage.volumes.volume_groups import GroupChoice, groups_of

SIZE: Final = re.compile(r"\d{1,6}(?:\.\d{1,3})?")
MOST_SIZES: Final = 12
MINUTES_OF_A_DAY: Final = 1440
NUMBERS: Final = (
    "data_gib",
    "cache_gib",
    "minutes",
    "warm_minutes",
    "repeats",
    "jobs",
    "iodepth",
)


class SizesField(forms.CharField):
    """Sizes in GiB, with commas or spaces between, as bytes of whole MiB."""

    def clean(self, value: Any) -> tuple[int, ...]:
        """The sizes, each once, the smallest first."""
        texts = str(super().clean(value)).replace(",", " ").split()
        if len(texts) > MOST_SIZES:
            raise forms.ValidationError(f"Enter at most {MOST_SIZES} sizes.")
        for text in texts:
            if SIZE.fullmatch(text) is None:
                raise forms.ValidationError(
                    f"“{text[:20]}” is not a size. Enter GiB, such as 4 or 4, 8, 16."
                )
        return tuple(sorted({round(float(text) * GIB / MIB) * MIB for text in texts}))


class JobFileField(forms.CharField):
    """A fio job file with one job."""

    def clean(self, value: Any) -> OwnJob | None:
        """The job; None where the field is empty."""
        text = str(super().clean(value) or "")
        try:
            return read_job_file(text) if text.strip() else None
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None


class BenchmarkForm(forms.Form):
    """What to measure, where, and when. `spec` and `chosen` are there once it is valid."""

    title = forms.CharField(max_length=TITLE_LIMIT, required=False, validators=[demand_plain])
    group = forms.ChoiceField(label="Host and volume group")
    targets = forms.MultipleChoiceField(
        choices=[(name, preset.title) for name, preset in PRESETS.items()], initial=list(EVENING)
    )
    states = forms.MultipleChoiceField(
        choices=list(STATES.items()), initial=[CacheState.NEW.value], required=False
    )
    profiles = forms.MultipleChoiceField(
        choices=[(name, profile.title) for name, profile in PROFILES.items()],
        initial=[Profile.ZIPF_READ.value],
    )
    job_file = JobFileField(
        required=False, max_length=4096, widget=forms.Textarea({"rows": 6}), strip=False
    )
    heat_of = forms.CharField(
        max_length=26, required=False, label="Volume", validators=[demand_plain]
    )
    data_gib = SizesField(label="Data, GiB", initial="4", max_length=100)
    cache_gib = SizesField(label="Cache, GiB", initial="4", max_length=100)
    minutes = forms.FloatField(
        label="Minutes a run",
        initial=USUAL_SECONDS // 60,
        min_value=0.2,
        max_value=MINUTES_OF_A_DAY,
    )
    warm_minutes = forms.FloatField(
        label="Warm-up, minutes",
        initial=USUAL_SECONDS // 60,
        min_value=0.2,
        max_value=MINUTES_OF_A_DAY,
    )
    repeats = forms.IntegerField(initial=USUAL_REPEATS, min_value=1, max_value=MOST_REPEATS)
    jobs = forms.IntegerField(label="Streams", initial=USUAL_JOBS, min_value=1, max_value=MOST_JOBS)
    iodepth = forms.IntegerField(
        label="Requests in flight, each", initial=USUAL_DEPTH, min_value=1, max_value=MOST_DEPTH
    )
    start = forms.TimeField(required=False, label="Runs begin from")
    end = forms.TimeField(required=False, label="until")
    zone = forms.CharField(max_length=64, required=False, label="Time zone")

    spec: Spec | None = None
    window: DailyWindow | None = None

    def __init__(self, user: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.groups = groups_of(user)
        choices = [(key, group.label) for key, group in self.groups.items()]
        self.fields["group"].choices = choices  # type: ignore[attr-defined]
        self.user = user

    @property
    def chosen(self) -> GroupChoice | None:
        """The group, once it is valid."""
        return self.groups.get(self.cleaned_data.get("group", "")) if self.is_bound else None

    def offered(self, name: str, about: dict[str, str]) -> list[tuple[str, str, str, bool]]:
        """The choices of a field: value, title, what it is for, and whether it is chosen."""
        chosen = self[name].value() or []
        choices = self.fields[name].choices  # type: ignore[attr-defined]
        return [(key, title, about.get(key, ""), key in chosen) for key, title in choices]

    @property
    def number_fields(self) -> list[BoundField]:
        """Those of sizes, times and counts, in their order."""
        return [self[name] for name in NUMBERS]

    @property
    def offered_targets(self) -> list[tuple[str, str, str, bool]]:
        return self.offered("targets", {name: each.about for name, each in PRESETS.items()})

    @property
    def offered_states(self) -> list[tuple[str, str, str, bool]]:
        return self.offered("states", dict(ABOUT_STATES))

    @property
    def offered_profiles(self) -> list[tuple[str, str, str, bool]]:
        return self.offered("profiles", {name: each.about for name, each in PROFILES.items()})

    def clean(self) -> dict[str, Any]:
        """The matrix; whether it can be run, `storage.benchmarks` judges."""
        data, group = self.cleaned_data, self.chosen
        self._read_window(data.get("start"), data.get("end"))
        if self.errors or group is None:
            return data
        self.spec = AskedMatrix(
            targets=tuple(data["targets"]),
            profiles=tuple(data["profiles"]),
            data_bytes=data["data_gib"],
            cache_bytes=data["cache_gib"],
            states=tuple(data["states"]),
            seconds=round(60 * data["minutes"]),
            warm_seconds=round(60 * data["warm_minutes"]),
            repeats=data["repeats"],
            jobs=data["jobs"],
            iodepth=data["iodepth"],
            own=data["job_file"],
            heat=data["heat_of"],
        ).spec(group)
        return data

    def clean_heat_of(self) -> HeatFigures | None:
        """What was counted of the volume of this key; None where none is named."""
        key = self.cleaned_data["heat_of"]
        try:
            return replayed_heat(self.user, key) if key else None
        except Refused as refused:
            raise forms.ValidationError(f"{refused.message} {refused.correction}") from None

    @property
    def limits(self) -> list[tuple[str, str]]:
        """What the chosen loads do not show: their titles, with sentences."""
        chosen = [PROFILES[name] for name in self.cleaned_data["profiles"]]
        heat = self.cleaned_data["heat_of"]
        return [
            (
                each.title,
                f"{replay_limit(heat)} {each.limits}"
                if each.name == Profile.HEAT and heat is not None
                else each.limits,
            )
            for each in chosen
            if each.limits
        ]

    def _read_window(self, start: time | None, end: time | None) -> None:
        if (start is None) != (end is None):
            self.add_error("start", "Enter both times, or leave both empty.")
        elif start is not None and end is not None:
            try:
                self.window = DailyWindow(start, end, self.cleaned_data.get("zone") or "UTC")
            except BadWindow as bad:
                self.add_error("end", str(bad))
