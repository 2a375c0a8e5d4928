"""The form that gives a host's empty disk to a volume group or to an array."""

from __future__ import annotations

from typing import Any, Final

from django import forms

from storage.formatting import size
from storage.planner.host_wish import HostWish
from storage.volumes.disk_offers import DiskOffer

LABELS: Final = {
    "vg": {"device": "SSD", "serial": "Serial number", "place": "Volume group"},
    "member": {
        "device": "New disk",
        "serial": "Serial number of the new disk",
        "place": "Disk to replace",
    },
}
PRINTED: Final = "As printed on the drive."
HELP_TEXTS: Final = {
    "vg": f"{PRINTED} For an array, enter its uuid from mdadm --detail.",
    "member": PRINTED,
}


class DiskForm(forms.Form):
    """Which disk, its serial number, and where it goes."""

    def __init__(self, offer: DiskOffer, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.offer, self.wanted = offer, None
        labels = LABELS[offer.place]
        disks = [
            (name, f"{name} · {size(disk.size_bytes)} {disk.model}".rstrip())
            for name, disk in offer.disks.items()
        ]
        if offer.places:
            choices = list(offer.places.items())
            self.fields[offer.place] = forms.ChoiceField(label=labels["place"], choices=choices)
        self.fields["device"] = forms.ChoiceField(label=labels["device"], choices=disks)
        self.fields["serial"] = forms.CharField(
            max_length=128, label=labels["serial"], help_text=HELP_TEXTS[offer.place]
        )

    wanted: HostWish | None

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if not self.errors:
            place = data.get(self.offer.place, "")
            self.wanted = self.offer.wish(data["device"], data["serial"], place)
        return data
