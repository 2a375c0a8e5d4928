"""Forms to trust hosts and to schedule jobs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import forms

from jobs.engine.decisions import WHY_LIMIT
from storage.database_clock import database_now
from storage.models import Host
from storage.models.host import MOST_SLOW_MS
from storage.name_validators import demand_plain
from storage.naming import text_fault
from storage.planner.daily_window import BadWindow, DailyWindow

LATEST = timedelta(days=366)
REASON_LIMIT = 200
"""As long as the columns `Halt.reason` and `Host.maintenance_reason`."""


NO_REASON = "Enter a reason: people whose jobs wait see it."
NO_END = "Enter when the maintenance ends."


NO_LIMIT = "The limit is a whole number of percent, from 1 to 100."


class AcceptKeyForm(forms.Form):
    """The fingerprint a person compared; whether it is the waiting one, `jobs.hosts.contact`
    decides."""

    fingerprint = forms.CharField(max_length=100)


class HostAddressForm(forms.Form):
    """Where a host's SSH server is reached."""

    address = forms.CharField(max_length=255)
    port = forms.IntegerField(min_value=1, max_value=65535)


class RemoveHostForm(forms.Form):
    """`shown` identifies the preview that the person saw; the name of the host is typed, which
    guards against removing one by mistake."""

    shown = forms.CharField(max_length=64, widget=forms.HiddenInput)
    confirm_name = forms.CharField(max_length=64, label="Name of the host")

    def __init__(self, host: Host, *args: Any, asks_name: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.host = host
        if not asks_name:
            del self.fields["confirm_name"]

    def clean_confirm_name(self) -> str:
        typed: str = self.cleaned_data["confirm_name"]
        if typed != self.host.name:
            raise forms.ValidationError("The name does not match.", code="wrong_name")
        return typed


class ConfirmForm(forms.Form):
    """A preview is confirmed: at once, or for later."""

    not_before = forms.DateTimeField(required=False, input_formats=["%Y-%m-%dT%H:%M"])

    def clean_not_before(self) -> datetime | None:
        """None for at once, also where the time has passed meanwhile."""
        at: datetime | None = self.cleaned_data["not_before"]
        now = database_now()
        if at is not None and at > now + LATEST:
            raise forms.ValidationError("Choose a time within the next year.")
        return at if at is not None and at > now else None

    @property
    def problem(self) -> str:
        """What is wrong with the time, in one sentence."""
        return " ".join(str(error) for error in self.errors.get("not_before", ()))


class MaintenanceForm(forms.Form):
    """Why and until when jobs are held, for the people who wait for them."""

    reason = forms.CharField(
        max_length=REASON_LIMIT, error_messages={"required": NO_REASON}, validators=[demand_plain]
    )
    until = forms.DateTimeField(
        input_formats=["%Y-%m-%dT%H:%M"], error_messages={"required": NO_END, "invalid": NO_END}
    )

    def clean_until(self) -> datetime:
        """A moment to come, within the next year."""
        until: datetime = self.cleaned_data["until"]
        now = database_now()
        if not now < until <= now + LATEST:
            raise forms.ValidationError("The maintenance must end within the next year.")
        return until


class WindowForm(forms.Form):
    """When steps may begin on a host, every day, in UTC; both empty for at any time."""

    window_start = forms.TimeField(required=False, input_formats=["%H:%M", "%H:%M:%S"])
    window_end = forms.TimeField(required=False, input_formats=["%H:%M", "%H:%M:%S"])

    def clean(self) -> dict[str, object]:
        """Both or neither, and not the same."""
        start, end = self.cleaned_data.get("window_start"), self.cleaned_data.get("window_end")
        if (start is None) != (end is None):
            raise forms.ValidationError("Enter both times, or leave both empty.")
        if start is not None and start == end:
            raise forms.ValidationError("Start and end of the window must differ.")
        return self.cleaned_data


class DailyWindowForm(forms.Form):
    """A daily window of a job, or of a host for its jobs; all empty for at any time. `window` is
    what was chosen, once that is valid."""

    start = forms.TimeField(required=False, input_formats=["%H:%M", "%H:%M:%S"])
    end = forms.TimeField(required=False, input_formats=["%H:%M", "%H:%M:%S"])
    zone = forms.CharField(max_length=64, required=False)
    window: DailyWindow | None = None

    def clean(self) -> dict[str, object]:
        """Both times, or neither."""
        start, end = self.cleaned_data.get("start"), self.cleaned_data.get("end")
        if self.errors:
            return self.cleaned_data
        if (start is None) != (end is None):
            raise forms.ValidationError("Enter both times, or leave both empty.")
        if start is not None and end is not None:
            try:
                self.window = DailyWindow(start, end, self.cleaned_data.get("zone") or "UTC")
            except BadWindow as bad:
                raise forms.ValidationError(str(bad)) from None
        return self.cleaned_data


class LimitsForm(forms.Form):
    """From which figures on something on a host is a problem, and whether Tiercel itself leaves
    writeback mode once an SSD mirror lost a disk. No `slow_read_ms`: the host has none of its
    own."""

    dirty_limit_percent = forms.IntegerField(
        min_value=1,
        max_value=100,
        error_messages={
            "required": NO_LIMIT,
            "invalid": NO_LIMIT,
            "min_value": NO_LIMIT,
            "max_value": NO_LIMIT,
        },
    )
    slow_read_ms = forms.IntegerField(
        min_value=1, max_value=MOST_SLOW_MS, required=False, label="Slow reads"
    )
    busy_percent = forms.IntegerField(min_value=1, max_value=100, label="Busy HDD")
    leaves_writeback = forms.BooleanField(required=False)


class StopForm(forms.Form):
    """Why all jobs are stopped. A stop is urgent: a reason that is too long is cut, not refused."""

    reason = forms.CharField(required=False)

    @property
    def kept(self) -> str:
        """What of the reason is kept; "" for one that is no text."""
        reason: str = self.cleaned_data["reason"] if self.is_valid() else ""
        return "".join(each for each in reason if text_fault(each) is None)[:REASON_LIMIT]

    @property
    def is_cut(self) -> bool:
        """Whether that is less than was given."""
        reason: str = self.data.get("reason", "")
        return self.kept != reason.strip()


class ResolveForm(forms.Form):
    """What a person did about a job that needs attention: of pages and API."""

    why = forms.CharField(
        max_length=WHY_LIMIT,
        validators=[demand_plain],
        error_messages={
            "required": "Describe briefly what you did.",
            "max_length": f"Use at most {WHY_LIMIT} characters.",
        },
    )
