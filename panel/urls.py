"""Every URL of the panel."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import include, path


@login_not_required
def health(request: HttpRequest) -> HttpResponse:
    """Answer that the web process serves requests (it asks nothing else)."""
    return HttpResponse("ok\n", content_type="text/plain")


urlpatterns = [
    path("health", health, name="health"),
    path("account/", include("allauth.urls")),
]
