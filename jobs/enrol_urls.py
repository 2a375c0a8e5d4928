"""URLs below /enrol/, for hosts."""

from __future__ import annotations

from django.urls import path

from jobs import enrol_views

urlpatterns = [
    path("<str:token>", enrol_views.enrol, name="enrol-script"),
    path("<str:token>/agent.pyz", enrol_views.agent, name="enrol-agent"),
]
