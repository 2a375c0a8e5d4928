"""The form that adds a host. What may be a name or an address, `jobs.enrolment` decides."""

from __future__ import annotations

from typing import Any

from django import forms

from jobs import enrolment
from storage.models import Host
from storage.models.host import HostState


class HostForm(forms.Form):
    """Where a new host is reached. A name that is in use is refused, unless its host never came."""

    name = forms.CharField(
        max_length=64, help_text="What people call it: a-z, 0-9, dots and dashes, such as node7."
    )
    address = forms.CharField(
        max_length=255,
        help_text="Host name or IP address by which the panel reaches its SSH server.",
    )
    port = forms.IntegerField(
        required=False,
        label="SSH port",
        help_text="Empty: 22, or what the host says of itself.",
    )
    account = forms.CharField(
        required=False,
        max_length=32,
        help_text="The system account that the line makes on the host. Empty: tiercel.",
    )

    def clean(self) -> dict[str, Any]:
        """Each objection at its field."""
        data = self.cleaned_data
        data["account"] = data.get("account") or None
        whole = {"name": "unknown", "address": "unknown", "port": None, **data}
        for field, refused in enrolment.objections(**whole):
            self.add_error(field, f"{refused.message} {refused.correction}")
        taken = Host.objects.filter(name=data.get("name", "")).exclude(state=HostState.PENDING)
        if taken.exists():
            self.add_error(
                "name",
                "A host of this name is enrolled already. For a new line, open its page.",
            )
        return data
