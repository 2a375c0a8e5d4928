"""Every URL of the panel."""

from __future__ import annotations

from django.urls import include, path

from panel import views

urlpatterns = [
    path("", views.home, name="home"),
    path("health", views.health, name="health"),
    path("account/", include("allauth.urls")),
    path("enrol/", include("jobs.enrol_urls")),
    path("", include("jobs.urls")),
    path("", include("storage.urls")),
]
