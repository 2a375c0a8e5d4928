"""The form that adds a host. What may be a name or an address, `jobs.hosts.enrolment` decides."""

from __future__ import annotations

from typing import Any

from django import forms

from jobs.hosts import enrolment
from storage.models import Host
from storage.models.host import HostState


class HostForm(forms.Form):
    """Where a new host is reached. A name that is in use is refused, unless its host never came."""

    name = forms.CharField(
        max_length=64,
        help_text=("Name shown in the panel: a-z, 0-9, dots and dashes, for example node7."),
    )
    address = forms.CharField(
        max_length=255,
        help_text="Host name or IP address of the host's SSH server, as seen from the panel.",
    )
    port = forms.IntegerField(
        required=False,
        label="SSH port",
        help_text="Leave empty to use 22 or the port that the host reports.",
    )
    account = forms.CharField(
        required=False,
        max_length=32,
        help_text=(
            "System account that the enrolment command creates on the host. Leave empty for "
            "tiercel."
        ),
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
                "A host with this name is already enrolled. Open its page to create a new "
                "enrolment command.",
            )
        return data
