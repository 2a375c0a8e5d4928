"""Jobs, and every verb that a page offers: each makes a preview first."""

from __future__ import annotations

from django.urls import path

from jobs import adoption_views, drift_views, marks, verbs, views

urlpatterns = [
    path("jobs/", views.jobs, name="jobs"),
    path("jobs/<str:key>/", views.job, name="job"),
    path("jobs/<str:key>/status", views.status, name="job-status"),
    path("jobs/<str:key>/lines", views.lines, name="job-lines"),
    path("jobs/<str:key>/cancel", verbs.cancel_job, name="job-cancel"),
    path("jobs/<str:key>/apply", verbs.apply_preview, name="cache-apply"),
    path("adopt/confirm", adoption_views.confirm, name="adopt-confirm"),
    path("adopt/undo", adoption_views.undo_adoption, name="adopt-undo"),
    path("adopt/tag", adoption_views.tag_adopted, name="adopt-tag"),
    path("volumes/new", verbs.new_volume, name="volume-new"),
    path("volumes/<str:key>/jobs", views.volume_jobs, name="volume-jobs"),
    path("volumes/<str:key>/marks", marks.volume_marks, name="volume-marks"),
    path("volumes/<str:key>/cache", verbs.cache_form, name="cache-form"),
    path("volumes/<str:key>/cache/remove", verbs.remove_cache, name="cache-remove"),
    path("volumes/<str:key>/tag", verbs.tag_volume, name="volume-tag"),
    path("volumes/<str:key>/discard", verbs.discard_volume, name="volume-discard"),
    path("hosts/<str:key>/missing", drift_views.settle_missing, name="host-missing"),
    path("hosts/<str:key>/accept", verbs.accept_host, name="host-accept"),
    path("hosts/<str:key>/refresh", verbs.refresh_host, name="host-refresh"),
]
