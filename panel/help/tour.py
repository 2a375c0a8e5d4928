"""The tour: four steps on the real pages, for new users. Each account stores its step, so that the
tour continues where the user left it; step 0 means no tour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from storage.access import Person, Right, is_staff, may
from storage.models import Host, LatestSample, Volume

FIRST: Final = 1


@dataclass(frozen=True, slots=True)
class TourStep:
    """`place` finds the page that the step is about, among what the person may see."""

    title: str | Promise
    text: str | Promise
    place: Callable[[Person], str]


@dataclass(frozen=True, slots=True)
class TourCard:
    """What a page shows of the tour; `is_here` where it is the page of the step."""

    number: int
    count: int
    title: str | Promise
    text: str | Promise
    url: str
    is_here: bool

    @property
    def is_last(self) -> bool:
        return self.number == self.count


def _host(person: Person) -> str:
    host = Host.objects.visible_to(person).active().without_inventory().first()
    if host is not None:
        return reverse("host", args=[host.key])
    return reverse("host-new" if may(person, Right.ADMINISTER) else "hosts")


def _slowest_volume(person: Person) -> str:
    """The one whose reads waited longest lately and that has no cache."""
    volumes = Volume.objects.visible_to(person).in_service()
    waits = LatestSample.objects.filter(volume__in=volumes, cache_size_bytes=None)
    slowest = waits.order_by("-read_ms").values_list("volume__key", flat=True).first()
    key = slowest or volumes.values_list("key", flat=True).first()
    return reverse("volume", args=[key]) if key else reverse("volumes")


def _own(route: str) -> Callable[[Person], str]:
    def place(person: Person) -> str:
        volumes = Volume.objects.visible_to(person).in_service()
        key = volumes.values_list("key", flat=True).first()
        return reverse(route, args=[key]) if key else reverse("my-volumes")

    return place


STAFF: Final = (
    TourStep(
        "What needs your attention",
        "Problems come first, each with a link and a fix. An empty list means all is well.",
        lambda person: reverse("home"),
    ),
    TourStep(
        "A host",
        "One pasted command adds a host. Tiercel then only reads it: root on the host decides "
        "which volume groups it may change.",
        _host,
    ),
    TourStep(
        "A cache, previewed",
        "Open Cache on a slow volume. The preview shows the exact commands, how long they take and "
        "whether they can be undone. Nothing runs before you confirm.",
        _slowest_volume,
    ),
    TourStep(
        "Sell it",
        "A plan is a cache size and a price. Customers order it themselves, and Results shows what "
        "each order measurably brought.",
        lambda person: reverse("cache-plans"),
    ),
)
CUSTOMERS: Final = (
    TourStep(
        _("Your volumes"),
        _("Each card shows how fast a volume is."),
        lambda person: reverse("my-volumes"),
    ),
    TourStep(
        _("Why is it slow?"),
        _("How long reads take, and how many of them SSD answers. Charts show when it changed."),
        _own("my-volume"),
    ),
    TourStep(
        _("Make it faster"),
        _("What each plan would change for this volume. The price is shown before you order."),
        _own("my-plan"),
    ),
    TourStep(
        _("Stay informed"),
        _("Choose which e-mails you get. The question mark at the top explains every word."),
        lambda person: reverse("notices"),
    ),
)


def steps_of(person: Person) -> tuple[TourStep, ...]:
    return STAFF if is_staff(person) else CUSTOMERS


def card(request: HttpRequest) -> TourCard | None:
    """What to show on this page; None without a tour."""
    person: Any = request.user
    number, steps = getattr(person, "tour_step", 0), steps_of(person)
    if not FIRST <= number <= len(steps):
        return None
    step = steps[number - 1]
    url = step.place(person)
    is_here = request.path == url
    return TourCard(number, len(steps), step.title, step.text, url, is_here)


def begin_tour(person: Model) -> None:
    """From the next page on the person sees the first step."""
    _set(person, FIRST)


@require_POST
def tour(request: HttpRequest) -> HttpResponse:
    """`step` is the number to go to: past the last, or 0, ends the tour where one is."""
    person: Any = request.user
    steps = steps_of(person)
    text = request.POST.get("step", "")
    number = int(text) if text.isdecimal() and int(text) <= len(steps) else 0
    _set(person, number)
    if number:
        return redirect(steps[number - 1].place(person))
    return redirect("home" if is_staff(person) else "my-volumes")


def _set(person: Any, number: int) -> None:
    get_user_model().objects.filter(pk=person.pk).update(tour_step=number)
