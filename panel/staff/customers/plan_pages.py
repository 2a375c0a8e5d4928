"""Staff pages of cache plans.

A plan that a volume has, or had, is never deleted: it is retired, and its volumes keep it.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Count, Prefetch, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from panel.languages.choice import DEFAULT
from panel.orders import plan_removal
from storage.access import Right, staff_view
from storage.byte_sizes import GIB, MIB
from storage.currency import BadAmount, major_of, minor_of
from storage.models import CachePlan, Host
from storage.planner import Refused
from storage.planner.wish import LVMCACHE_MIN_BYTES, MAX_BYTES

UNITS = {"GiB": GIB, "MiB": MIB}
MODES = (
    ("writethrough", "writethrough: faster reads; losing the SSD loses no data"),
    ("writeback", "writeback: faster writes too; only on hosts with mirrored SSDs"),
)
FIRST_CURRENCY = "EUR"
OTHER_LANGUAGES = [(code, name) for code, name in settings.LANGUAGES if code != DEFAULT]


class CachePlanForm(forms.ModelForm):  # type: ignore[type-arg]
    """A plan as people type it: a size with its unit or a share of the volume, a price as "4.90".
    Size and mode of a plan that volumes carry are fixed: they are what its customers bought."""

    size = forms.IntegerField(min_value=1, required=False, label="Size on SSD")
    unit = forms.ChoiceField(choices=[(unit, unit) for unit in UNITS], label="Unit")
    ratio_percent = forms.IntegerField(
        min_value=1,
        max_value=100,
        required=False,
        label="Or percent of the volume",
        help_text="Rounded up to whole 64 MiB. Fill in a size or a percentage.",
    )
    mode = forms.ChoiceField(choices=MODES)
    price = forms.CharField(
        max_length=20, label="Price per month", help_text="For example 4.90; 0 = free."
    )
    currency = forms.CharField(max_length=3, label="Currency", help_text="For example EUR.")
    hosts = forms.ModelMultipleChoiceField(
        Host.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"}),
        label="Hosts that offer it",
        help_text="Leave empty for all hosts.",
    )

    class Meta:
        model = CachePlan
        fields = (
            "name",
            "description",
            "ratio_percent",
            "mode",
            "currency",
            "slow_read_ms",
            "on_offer",
            "hosts",
        )

    def __init__(self, hosts: QuerySet[Host], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast("forms.ModelMultipleChoiceField[Host]", self.fields["hosts"]).queryset = hosts
        self.fields["on_offer"].label = "Available"
        self.fields["slow_read_ms"].label = "Reads are slow from (ms)"
        self.fields[
            "slow_read_ms"
        ].help_text = "For staff and customers. Empty: the limit of each volume's host."
        self.fields["description"].help_text = "One sentence for customers that describes the plan."
        plan = self.instance
        for code, language in OTHER_LANGUAGES:
            self.fields[f"description_{code}"] = forms.CharField(
                max_length=200,
                required=False,
                label=f"Description ({language})",
                initial=plan.descriptions.get(code, ""),
            )
        if plan.pk is None:
            last = CachePlan.objects.order_by("-created_at").first()
            self.initial.setdefault("currency", last.currency if last else FIRST_CURRENCY)
            self.initial.setdefault("unit", "GiB")
        else:
            self.initial["price"] = major_of(plan.price_minor, plan.currency)
            unit = "MiB" if (plan.size_bytes or 0) % GIB else "GiB"
            self.initial["unit"] = unit
            self.initial["size"] = plan.size_bytes // UNITS[unit] if plan.size_bytes else None
        self.is_carried = plan.pk is not None and plan.volumes.exists()
        if self.is_carried:
            for name in ("size", "unit", "ratio_percent", "mode"):
                self.fields[name].disabled = True

    @property
    def translations(self) -> list[forms.BoundField]:
        """The fields of the description in other languages."""
        return [self[f"description_{code}"] for code, _language in OTHER_LANGUAGES]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        typed = {code: data.get(f"description_{code}") for code, _language in OTHER_LANGUAGES}
        self.instance.descriptions = {code: text for code, text in typed.items() if text}
        size, ratio = data.get("size"), data.get("ratio_percent")
        if bool(size) == bool(ratio) and not {"size", "ratio_percent"} & set(self.errors):
            self.add_error("size", "Enter a size or a percentage of the volume, not both.")
        elif size:
            self._size(size * UNITS[data["unit"]])
        else:
            self.instance.size_bytes = None
        if "price" in data and "currency" in data:
            try:
                self.instance.price_minor = minor_of(data["price"], data["currency"])
            except BadAmount as error:
                self.add_error("price", str(error))
        return data

    def _size(self, size_bytes: int) -> None:
        if not LVMCACHE_MIN_BYTES <= size_bytes <= MAX_BYTES:
            self.add_error("size", f"A cache needs at least {LVMCACHE_MIN_BYTES // MIB} MiB.")
        self.instance.size_bytes = size_bytes

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        others = CachePlan.objects.exclude(pk=self.instance.pk)
        if others.filter(name__iexact=name).exists():
            raise ValidationError("Another plan has this name.")
        return name


@require_safe
@staff_view()
def plans(request: HttpRequest) -> HttpResponse:
    """Every plan with how many volumes carry it."""
    counted = CachePlan.objects.visible_to(request.user).annotate(carried=Count("volumes"))
    # Django forgets a model's own order where it groups.
    ordered = counted.order_by("price_minor", "name")
    offering = Host.objects.without_inventory().only("name")
    context = {"plans": ordered.prefetch_related(Prefetch("hosts", offering))}
    return render(request, "staff/plans/cacheplans.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@staff_view(Right.ADMINISTER)
def new_plan(request: HttpRequest) -> HttpResponse:
    """A new plan: form, then the list."""
    return _edit(request, CachePlan())


@require_http_methods(["GET", "HEAD", "POST"])
@staff_view(Right.ADMINISTER)
def plan(request: HttpRequest, key: str) -> HttpResponse:
    """Change a plan. A new price holds for changes from now on; older ones keep theirs."""
    return _edit(request, _plan(request, key))


def _edit(request: HttpRequest, plan: CachePlan) -> HttpResponse:
    is_new = plan.pk is None
    hosts = Host.objects.visible_to(request.user).without_inventory()
    if not is_new:
        # A removed host stays a choice: without it "no host chosen" would mean every host.
        offered = Q(pk__in=hosts.values("pk")) | Q(pk__in=plan.hosts.values("pk"))
        hosts = Host.objects.without_inventory().filter(offered)
    form = CachePlanForm(hosts, request.POST or None, instance=plan)
    if request.method == "POST" and form.is_valid():
        saved = form.save()
        messages.success(request, f"The plan {saved.name} is saved.")
        return redirect("cache-plans")
    context = {
        "form": form,
        # A form that was refused has put what was typed onto the record.
        "plan": None if is_new else CachePlan.objects.get(pk=plan.pk),
        "in_use": "" if is_new else plan_removal.why_kept(plan),
    }
    code = HTTPStatus.UNPROCESSABLE_ENTITY if request.method == "POST" else 200
    return render(request, "staff/plans/cacheplan.html", context, status=code)


@require_POST
@staff_view(Right.ADMINISTER)
def offer_plan(request: HttpRequest, key: str) -> HttpResponse:
    """Retire a plan (`on_offer` 0), or offer it again (1)."""
    plan = _plan(request, key)
    plan.on_offer = request.POST.get("on_offer") == "1"
    plan.save(update_fields=["on_offer"])
    change = "is available again" if plan.on_offer else "is retired; existing customers keep it"
    messages.success(request, f"The plan {plan.name} {change}.")
    return redirect("cache-plans")


@require_POST
@staff_view(Right.ADMINISTER)
def delete_plan(request: HttpRequest, key: str) -> HttpResponse:
    """Delete a plan that no volume ever had; refuse any other, with the reason."""
    plan = _plan(request, key)
    try:
        plan_removal.delete_plan(plan)
    except Refused as refusal:
        messages.error(request, refusal.message)
        return redirect("cache-plan", plan.key)
    messages.success(request, f"The plan {plan.name} is deleted.")
    return redirect("cache-plans")


def _plan(request: HttpRequest, key: str) -> CachePlan:
    return get_object_or_404(CachePlan.objects.visible_to(request.user), key=key)
