"""htmx helpers: answer with a fragment instead of a page."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from jobs.models import Job
from storage.models import Host, Volume

FIELD = "in_place"


def is_in_place(request: HttpRequest) -> bool:
    """Whether a part of the page asks, and takes a part as the answer."""
    return request.headers.get("HX-Request") == "true" and FIELD in request.POST


def fragment_or_page(
    request: HttpRequest,
    part: str,
    context: dict[str, object],
    *,
    title: str,
    of: Volume | Host,
    is_quiet: bool,
) -> HttpResponse:
    """The part for the page that loads it; opened alone, without JavaScript, a page of its own
    under the volume or host. `is_quiet`: the part is empty."""
    if request.headers.get("HX-Request") == "true":
        return HttpResponse() if is_quiet else render(request, part, context)
    page = {"part": part, "title": title, "of": of, "is_quiet": is_quiet}
    return render(request, "staff/volumes/part.html", {**context, **page})


def to_job(request: HttpRequest, job: Job) -> HttpResponse:
    """Redirect to a job or preview: to its page, or to its place on the volume's page."""
    if not is_in_place(request):
        return redirect("job", job.key)
    query = urlencode({"job": job.key, "asked": "1"})
    return redirect(f"{reverse('volume-current-job', args=[job.its_volume.key])}?{query}")


def form_again(
    request: HttpRequest, template: str, context: Mapping[str, object], element: str
) -> HttpResponse:
    """The form with its errors, in the place of `element` instead of where the answer would go."""
    response = render(request, template, context, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    response["HX-Retarget"], response["HX-Reswap"] = element, "outerHTML"
    return response


def page_url(request: HttpRequest, volume_key: str, *tabs: str, **values: str) -> str:
    """The URL of the volume's page as the browser has it, but with these parameters; those that
    are "" are left out. It is the summary's, but where the browser is at one of these `tabs`."""
    current = urlsplit(request.headers.get("HX-Current-URL", ""))
    kept = {name: value for name, value in parse_qsl(current.query) if name not in values}
    query = urlencode({**kept, **{name: value for name, value in values.items() if value}})
    paths = [reverse(tab, args=[volume_key]) for tab in tabs]
    path = current.path if current.path in paths else reverse("volume", args=[volume_key])
    return f"{path}?{query}" if query else path
