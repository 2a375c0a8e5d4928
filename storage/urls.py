"""Pages of hosts and volumes. What changes a host is in `jobs.urls`."""

from __future__ import annotations

from django.urls import path

from storage import (
    adoption_views,
    advice_views,
    host_views,
    series_views,
    views,
    volume_views,
)

urlpatterns = [
    path("adopt/", adoption_views.adopt, name="adopt"),
    path("hosts/", host_views.hosts, name="hosts"),
    path("hosts/<str:key>/", host_views.host, name="host"),
    path("hosts/<str:key>/now", host_views.host_now, name="host-now"),
    path("hosts/<str:key>/advice", advice_views.advice, name="host-advice"),
    path("hosts/<str:key>/advice/card", advice_views.advice_card, name="host-advice-card"),
    path("volumes/", views.volumes, name="volumes"),
    path("volumes/<str:key>/", volume_views.volume, name="volume"),
    path("volumes/<str:key>/cache/card", volume_views.cache, name="volume-cache"),
    path("volumes/<str:key>/cache/state", volume_views.cache_state, name="volume-cache-state"),
    path("volumes/<str:key>/figures", volume_views.figures, name="volume-figures"),
    path("volumes/<str:key>/series", series_views.volume_series, name="volume-series"),
    path("volumes/<str:key>/series.csv", series_views.volume_csv, name="volume-csv"),
]
