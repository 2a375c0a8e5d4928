"""Daily windows in the API: of a job, and of a host for its jobs."""

from __future__ import annotations

from typing import Any

from django.utils import timezone
from rest_framework import serializers

from jobs.models import Job
from jobs.queue.window_estimate import WindowEstimate, estimate_in_window
from panel.api.framework.bodies import Body
from panel.api.framework.fields import Boolean, DateTime, Integer, Text, Time
from panel.api.framework.shape import OMITTED, Json, Shape
from storage.planner.daily_window import BadWindow, DailyWindow


class DailyWindowShape(Shape):
    """A time of day in which work begins; it may span midnight."""

    start = Time("When it opens.", format="%H:%M")
    end = Time("When it closes.", format="%H:%M")
    zone = Text("The time zone of both, such as Europe/Berlin.")


class DailyWindowBody(Body):
    """A time of day in which work begins; it may span midnight."""

    start = Time("When it opens.", input_formats=["%H:%M"])
    end = Time("When it closes.", input_formats=["%H:%M"])
    zone = Text("The time zone of both, such as Europe/Berlin.", max_length=64, default="UTC")

    def validate(self, attrs: Json) -> Json:
        """Whether it is a window."""
        try:
            window_of(attrs)
        except BadWindow as bad:
            raise serializers.ValidationError({bad.field: str(bad)}, "invalid") from None
        return attrs


def window_of(values: Json | None) -> DailyWindow | None:
    """The window that a body says; None for at any time."""
    return None if values is None else DailyWindow(**values)


class WindowEstimateShape(Shape):
    """When a preview with a window, or a job that waits for its window, begins and ends, as of the
    last inventory."""

    opens_at = DateTime("When it begins.")
    closes_at = DateTime("When that window closes.")
    done_from = DateTime("When it ends at the earliest; null: not within 60 windows.", null=True)
    done_until = DateTime(
        "When it ends beside busy guests; null: not within 60 windows.", null=True
    )
    outlasts = Boolean(
        "Whether it may take longer than the window. A flush then pauses until the next window; "
        "any other step runs to its end."
    )
    window_count = Integer("Number of windows that it needs beside busy guests.")


def estimate_of_window(job: Job) -> WindowEstimate | Any:
    """Of a preview, and of a job that waits for its window."""
    if not job.dry_run and job.begins_in_window is None:
        return OMITTED
    estimate = estimate_in_window(job, timezone.now())
    return OMITTED if estimate is None else estimate
