"""Forms about trust in hosts."""

from __future__ import annotations

from django import forms


class AcceptForm(forms.Form):
    """The fingerprint a person compared; whether it is the waiting one, `jobs.hosts` decides."""

    fingerprint = forms.CharField(max_length=100)
