"""Adoption in three steps: choose volumes, see a preview, store and tag. Undoing it, and tagging
later. The choice travels sealed from the preview to the confirmation."""

from __future__ import annotations

from collections import Counter
from http import HTTPStatus
from typing import Any, Final, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import AbstractBaseUser
from django.core import signing
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.core.signing import BadSignature
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from jobs.queue.adoption import TAGS_AT_ONCE, adopt_and_tag, release_adopted, tag_volume, untagged
from panel.lists.named_choice import NamedChoiceField
from panel.staff.job_requests import requester_of
from storage.access import Person, Right, staff_view
from storage.adoption import (
    AdoptionQuestion,
    AdoptionVerdict,
    BadCsv,
    Judgement,
    asked_by_pattern,
    buyers_of,
    candidates_of,
    judge_rows,
    last_batch,
    read_csv,
)
from storage.adoption.adopt import taken_ids
from storage.models import Customer, Host, Volume
from storage.name_validators import demand_name

WORDS = {
    AdoptionVerdict.ADOPT: "will be adopted",
    AdoptionVerdict.ALREADY: "already adopted",
    AdoptionVerdict.UNKNOWN: "unknown",
    AdoptionVerdict.AMBIGUOUS: "ambiguous",
    AdoptionVerdict.ID_TAKEN: "external id taken",
    AdoptionVerdict.CUSTOMER_UNKNOWN: "customer unknown",
    AdoptionVerdict.HOSTS_OWN: "skipped",
    AdoptionVerdict.UNUSABLE: "unusable line",
}
SALT: Final = "storage.adoption"
SEALED_SECONDS: Final = 3600
LISTED: Final = 50
"""So many unassigned volumes are listed; for more there are patterns."""


@staff_view(Right.OPERATE)
@require_http_methods(["GET", "HEAD", "POST"])
def adoption_page(request: HttpRequest) -> HttpResponse:
    """The two forms; posting one shows the preview. Nothing is stored here."""
    way = request.POST.get("way", "pattern") if request.method == "POST" else ""
    is_csv, is_pattern = way == "csv", way == "pattern"
    prefilled = {name: request.GET[name] for name in ("pattern", "host") if name in request.GET}
    pattern = PatternForm(
        request.user, request.POST if is_pattern else None, initial={"pattern": "*", **prefilled}
    )
    sheet = CsvForm(request.POST, request.FILES) if is_csv else CsvForm()
    candidates = candidates_of(request.user)
    free = [each for each in candidates if not (each.owner or each.is_missing or each.host_use)]
    rows = OneByOne(
        request.POST if way == "rows" else None,
        form_kwargs={"user": request.user},
        initial=[{"volume": each.lv_uuid} for each in free[:LISTED]],
    )
    ways: dict[str, PatternForm | CsvForm | OneByOne] = {
        "csv": sheet,
        "pattern": pattern,
        "rows": rows,
    }
    submitted = ways.get(way)
    if submitted is not None and submitted.is_valid():
        return _preview(request, submitted)
    context = {
        "pattern": pattern,
        "sheet": sheet,
        "rows": rows,
        "listed": list(zip(free[:LISTED], rows, strict=False)),
        "more_count": max(0, len(free) - LISTED),
        "batch": last_batch(request.user),
        "found_count": sum(not each.owner and not each.is_missing for each in candidates),
        "taggable_count": sum(
            each.is_adopted and each.is_allowed and not each.is_managed for each in candidates
        ),
    }
    code = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else 200
    return render(request, "staff/adoption/adopt.html", context, status=code)


def _preview(request: HttpRequest, form: PatternForm | CsvForm | OneByOne) -> HttpResponse:
    asks, make_customers = form.asks, form.make_customers
    judged = judge_rows(
        asks,
        candidates_of(request.user),
        buyers_of(request.user),
        taken_ids(),
        make_customers=make_customers,
    )
    context = {
        "rows": [(each, WORDS[each.verdict]) for each in judged],
        "summary": _summary(judged),
        "good_count": sum(each.is_good for each in judged),
        "sealed": sign_questions(asks, request.user.pk, make_customers=make_customers),
    }
    return render(request, "staff/adoption/adopt_preview.html", context)


def _summary(judged: tuple[Judgement, ...]) -> str:
    """How many rows end how, in the order of `AdoptionVerdict`."""
    by_verdict = Counter(each.verdict for each in judged)
    counts = [f"{by_verdict[each]} {WORDS[each]}" for each in AdoptionVerdict if by_verdict[each]]
    return f"{', '.join(counts)}. Nothing is stored yet." if counts else "No volume matches."


@staff_view(Right.OPERATE)
@require_POST
def confirm_adoption(request: HttpRequest) -> HttpResponse:
    """Adopt the rows that stayed ticked on the preview (`take`); every row is checked again, so a
    repeated click or a concurrent adoption does no harm."""
    try:
        asks, make_customers = signed_questions(request.POST.get("sealed", ""), request.user.pk)
    except BadSignature:
        messages.error(request, "The preview is too old. Create a new preview. Nothing was stored.")
        return redirect("adopt")
    taken = set(request.POST.getlist("take"))
    results = adopt_and_tag(
        [ask for ask in asks if str(ask.line) in taken],
        _person(request),
        requester_of(request),
        make_customers=make_customers,
    )
    context = {
        "results": [(each, WORDS[each.judgement.verdict]) for each in results],
        "adopted_count": sum(each.volume is not None for each in results),
        "job_count": sum(each.tagging is not None and bool(each.tagging.job) for each in results),
    }
    return render(request, "staff/adoption/adopt_done.html", context)


@staff_view(Right.OPERATE)
@require_POST
def undo_adoption(request: HttpRequest) -> HttpResponse:
    """Undo the adoption of one volume (`volume`), or of those adopted last, together."""
    key = request.POST.get("volume", "").replace("\0", "\ufffd")
    mine = Volume.objects.visible_to(request.user)
    volumes = [get_object_or_404(mine, key=key)] if key else last_batch(request.user)
    done = release_adopted(volumes, requester_of(request))
    if done.released:
        count = len(done.released)
        messages.success(request, f"Undone for {count} volume{'s' if count != 1 else ''}.")
    for volume, reason in done.kept[:5]:
        messages.warning(request, f"{volume.label} stays adopted. {reason}")
    if len(done.kept) > 5:
        messages.warning(request, f"{len(done.kept) - 5} more stay adopted.")
    return redirect("volume", key) if key else redirect("adopt")


@staff_view(Right.OPERATE)
@require_POST
def tag_adopted(request: HttpRequest) -> HttpResponse:
    """Tag every adopted volume whose group has been allowed since."""
    rows = iter(untagged(_person(request)))
    count, refused = 0, []
    while count < TAGS_AT_ONCE and (row := next(rows, None)) is not None:
        tagging = tag_volume(row, requester_of(request))
        count += tagging.job is not None
        if tagging.job is None:
            refused.append(f"{row.volume.label}: {tagging.note}")
    remaining = len(list(rows))
    rest = f" {remaining} are left: press Tag them on the Adopt page again." if remaining else ""
    messages.info(request, f"{count} tag job{'s' if count != 1 else ''} started.{rest}")
    for reason in refused[:3]:
        messages.warning(request, reason)
    return redirect("jobs" if count else "adopt")


def _person(request: HttpRequest) -> AbstractBaseUser:
    """The signed-in person; `staff_view` requires one."""
    return cast("AbstractBaseUser", request.user)


class PatternForm(forms.Form):
    """Every volume whose name or guest matches, for one customer or for one named as the guest."""

    pattern = forms.CharField(
        max_length=127,
        initial="*",
        label="Name pattern for volumes or guests",
        help_text="* matches any text, ? matches one character: web*, vm-10?-disk-0.",
    )
    host = NamedChoiceField("hosts", required=False, help_text="Empty: all hosts.")
    customer = NamedChoiceField(
        "customers",
        required=False,
        help_text="Start typing a name, or add a new customer below.",
    )
    new_customer = forms.CharField(
        max_length=200, required=False, label="New customer", validators=[demand_name]
    )
    by_guest = forms.BooleanField(required=False, label="Create one customer per guest")

    def __init__(self, user: Person, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        hosts = cast("NamedChoiceField", self.fields["host"])
        hosts.queryset = Host.objects.visible_to(user).without_inventory()
        customers = cast("NamedChoiceField", self.fields["customer"])
        customers.queryset = Customer.objects.visible_to(user)

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if self.errors:
            return data
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


class OneForm(forms.Form):
    """One volume of the list; it is asked for if its row names a customer."""

    volume = forms.CharField(max_length=64, widget=forms.HiddenInput)
    customer = NamedChoiceField("customers", required=False)

    def __init__(self, *args: Any, user: Person, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        customers = cast("NamedChoiceField", self.fields["customer"])
        customers.queryset = Customer.objects.visible_to(user)


class OneByOne(forms.formset_factory(OneForm, extra=0, max_num=LISTED, absolute_max=LISTED)):  # type: ignore[misc]
    """A customer for each volume of the list."""

    make_customers = False

    def clean(self) -> None:
        if not any(self.errors) and not self.asks:
            raise ValidationError("Enter a customer in at least one row.")

    @property
    def asks(self) -> tuple[AdoptionQuestion, ...]:
        """The rows that name a customer."""
        rows = [(form.cleaned_data["volume"], form.cleaned_data["customer"]) for form in self]
        named = [(volume, customer) for volume, customer in rows if customer is not None]
        return tuple(
            AdoptionQuestion(line, volume, customer.key)
            for line, (volume, customer) in enumerate(named, start=1)
        )


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
        required=False, label="Create customers that do not exist yet"
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


def sign_questions(
    asks: tuple[AdoptionQuestion, ...], reader: object, *, make_customers: bool
) -> str:
    """What was previewed, as signed text for a hidden field; valid for its `reader` (a primary
    key) alone."""
    rows = [
        [ask.line, ask.volume, ask.customer, ask.external_id, ask.label, ask.by_pattern]
        for ask in asks
        if not ask.problem
    ]
    return signing.dumps([make_customers, rows], salt=f"{SALT}:{reader}", compress=True)


def signed_questions(text: str, reader: object) -> tuple[tuple[AdoptionQuestion, ...], bool]:
    """The rows and `make_customers` of `sign_questions`; raises
    `django.core.signing.BadSignature` for anything else, and once the preview is an hour old."""
    make_customers, rows = signing.loads(text, salt=f"{SALT}:{reader}", max_age=SEALED_SECONDS)
    return tuple(AdoptionQuestion(*row) for row in rows), bool(make_customers)
