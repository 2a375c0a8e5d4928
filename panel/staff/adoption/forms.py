"""Forms of adoption, and how their input passes from the preview to the confirmation."""

from __future__ import annotations

from typing import Any, Final, cast

from django import forms
from django.core import signing
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile

from storage.access import Person
from storage.adoption import AdoptionQuestion, BadCsv, asked_by_pattern, candidates_of, read_csv
from storage.models import Customer, Host

SALT: Final = "storage.adoption"
SEALED_SECONDS: Final = 3600


class PatternForm(forms.Form):
    """Every volume whose name or guest matches, for one customer or for one named as the guest."""

    pattern = forms.CharField(
        max_length=127,
        initial="*",
        label="Name pattern for volumes or guests",
        help_text="* matches any text, ? matches one character: web*, vm-10?-disk-0.",
    )
    host = forms.ModelChoiceField(
        Host.objects.none(), required=False, empty_label="All hosts", to_field_name="key"
    )
    customer = forms.ModelChoiceField(
        Customer.objects.none(),
        required=False,
        empty_label="Choose, or fill in the field below",
        to_field_name="key",
    )
    new_customer = forms.CharField(max_length=200, required=False, label="New customer")
    by_guest = forms.BooleanField(required=False, label="Create one customer per guest")

    def __init__(self, user: Person, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        hosts = cast("forms.ModelChoiceField[Host]", self.fields["host"])
        hosts.queryset = Host.objects.visible_to(user).without_inventory()
        customers = cast("forms.ModelChoiceField[Customer]", self.fields["customer"])
        customers.queryset = Customer.objects.visible_to(user)

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        named = [bool(data.get(name)) for name in ("customer", "new_customer", "by_guest")]
        if sum(named) != 1:
            raise ValidationError(
                "Choose exactly one: a customer, a new customer, or one customer per guest."
            )
        return data

    @property
    def asks(self) -> tuple[AdoptionQuestion, ...]:
        """The rows of valid input."""
        data = self.cleaned_data
        customer = data["customer"].key if data["customer"] else data["new_customer"].strip()
        candidates = candidates_of(self.user, data["host"])
        return asked_by_pattern(candidates, data["pattern"], None if data["by_guest"] else customer)

    @property
    def make_customers(self) -> bool:
        return bool(self.cleaned_data["by_guest"] or self.cleaned_data["new_customer"])


class CsvForm(forms.Form):
    """Rows of a file, or pasted ones."""

    file = forms.FileField(required=False, label="CSV file")
    text = forms.CharField(
        required=False,
        strip=False,
        label="or paste the CSV",
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
    )
    new_customers = forms.BooleanField(
        required=False, label=("Create customers that do not exist yet")
    )

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        upload: UploadedFile[bytes] | None = data.get("file")
        if bool(upload) == bool(data.get("text", "").strip()):
            raise ValidationError("Choose a file or paste its text, not both.")
        content = upload.read() if upload else data["text"].strip("\r\n").encode()
        try:
            self.asks = read_csv(content)
        except BadCsv as error:
            raise ValidationError(f"{error} Nothing was stored.") from error
        return data

    @property
    def make_customers(self) -> bool:
        return bool(self.cleaned_data["new_customers"])


def seal(asks: tuple[AdoptionQuestion, ...], *, make_customers: bool) -> str:
    """What was previewed, as text for a hidden field that nobody can alter."""
    rows = [
        [ask.line, ask.volume, ask.customer, ask.external_id, ask.label, ask.by_pattern]
        for ask in asks
    ]
    return signing.dumps([make_customers, rows], salt=SALT, compress=True)


def unseal(text: str) -> tuple[tuple[AdoptionQuestion, ...], bool]:
    """The rows and `make_customers` of `seal`; raises `django.core.signing.BadSignature` for
    anything else, and once the preview is an hour old."""
    make_customers, rows = signing.loads(text, salt=SALT, max_age=SEALED_SECONDS)
    return tuple(AdoptionQuestion(*row) for row in rows), bool(make_customers)
