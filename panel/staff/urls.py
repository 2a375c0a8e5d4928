"""Pages of the staff. What changes a host makes a preview first."""

from __future__ import annotations

from django.urls import path

from panel.charts import pages as chart_pages
from panel.lists import saved_views, suggestions
from panel.staff import adoption_pages as adoption_pages
from panel.staff import audit_pages as audit_pages
from panel.staff.hosts import advice_pages, enrol_pages, host_actions, host_list
from panel.staff.hosts import pages as host_pages
from panel.staff.jobs import job_actions, job_list, log_pages
from panel.staff.jobs import pages as job_pages
from panel.staff.volumes import (
    bulk_pages,
    cache_pages,
    comparison_pages,
    drift_pages,
    lifecycle_pages,
    list_pages,
    record_pages,
    resize_pages,
)
from panel.staff.volumes import pages as volume_pages

urlpatterns = [
    path("audit/everything", audit_pages.trail_page, name="trail"),
    path("suggest/<str:kind>", suggestions.suggest, name="suggest"),
    path("views/<str:listing>/save", saved_views.save_view, name="view-save"),
    path("views/<int:pk>/delete", saved_views.delete_view, name="view-delete"),
    path("audit/", audit_pages.audit, name="audit"),
    path("audit/export", audit_pages.export, name="audit-export"),
    path("jobs/", job_list.jobs, name="jobs"),
    path("jobs/<str:key>/", job_pages.job, name="job"),
    path("jobs/<str:key>/status", job_pages.status, name="job-status"),
    path("jobs/<str:key>/lines", log_pages.lines, name="job-lines"),
    path("jobs/<str:key>/log.txt", log_pages.log, name="job-log"),
    path("jobs/stop", job_actions.stop_all, name="jobs-stop"),
    path("jobs/go-on", job_actions.resume_all, name="jobs-resume"),
    path("jobs/<str:key>/cancel", job_actions.cancel_job, name="job-cancel"),
    path("jobs/<str:key>/pace", job_actions.raise_flush_rate, name="job-pace"),
    path("jobs/<str:key>/resume", job_actions.resume_job, name="job-resume"),
    path("jobs/<str:key>/rollback", job_actions.roll_back_job, name="job-rollback"),
    path("jobs/<str:key>/resolve", job_actions.resolve_job, name="job-resolve"),
    path("jobs/<str:key>/apply", job_actions.apply_preview, name="preview-apply"),
    path("adopt/confirm", adoption_pages.confirm, name="adopt-confirm"),
    path("adopt/undo", adoption_pages.undo_adoption, name="adopt-undo"),
    path("adopt/tag", adoption_pages.tag_adopted, name="adopt-tag"),
    path("volumes/bulk", bulk_pages.bulk, name="volumes-bulk"),
    path("volumes/bulk/confirm", bulk_pages.bulk_confirm, name="volumes-bulk-confirm"),
    path("volumes/bulk/<str:key>/", bulk_pages.bulk_result, name="volumes-bulk-result"),
    path("volumes/bulk/<str:key>/cancel", bulk_pages.bulk_cancel, name="volumes-bulk-cancel"),
    path(
        "volumes/bulk/<str:key>/commands",
        bulk_pages.bulk_commands,
        name="volumes-bulk-commands",
    ),
    path(
        "volumes/bulk/answers/<str:key>",
        bulk_pages.bulk_answer,
        name="volumes-bulk-answer",
    ),
    path("volumes/new", lifecycle_pages.new_volume, name="volume-new"),
    path("volumes/<str:key>/jobs", job_pages.volume_jobs, name="volume-jobs"),
    path("volumes/<str:key>/work", volume_pages.current_job, name="volume-current-job"),
    path(
        "volumes/<str:key>/comparison",
        comparison_pages.volume_comparison,
        name="volume-comparison",
    ),
    path("volumes/<str:key>/marks", chart_pages.volume_marks, name="volume-marks"),
    path("volumes/<str:key>/cache", cache_pages.cache_form, name="cache-form"),
    path("volumes/<str:key>/cache/remove", cache_pages.remove_cache, name="cache-remove"),
    path("volumes/<str:key>/cache/size", cache_pages.replace_cache, name="cache-replace"),
    path("volumes/<str:key>/cache/flush", cache_pages.flush_cache, name="cache-flush"),
    path("volumes/<str:key>/cache/drop", cache_pages.drop_cache, name="cache-drop"),
    path("volumes/<str:key>/loss", cache_pages.volume_loss, name="volume-loss"),
    path("volumes/<str:key>/drift", drift_pages.volume_drift, name="volume-drift"),
    path("volumes/<str:key>/drift/accept", drift_pages.accept_drift, name="volume-drift-accept"),
    path("volumes/<str:key>/repair", drift_pages.repair_volume, name="volume-repair"),
    path("volumes/<str:key>/tag", lifecycle_pages.tag_volume, name="volume-tag"),
    path("volumes/<str:key>/extend", resize_pages.extend_volume, name="volume-extend"),
    path("volumes/<str:key>/name", record_pages.rename_volume, name="volume-rename"),
    path("volumes/<str:key>/customer", record_pages.change_customer, name="volume-customer"),
    path("volumes/<str:key>/move", resize_pages.move_volume, name="volume-move"),
    path("volumes/<str:key>/retire", lifecycle_pages.retire_volume, name="volume-retire"),
    path("volumes/<str:key>/restore", lifecycle_pages.restore_volume, name="volume-restore"),
    path("volumes/<str:key>/destroy", lifecycle_pages.destroy_volume, name="volume-destroy"),
    path("volumes/<str:key>/discard", lifecycle_pages.discard_volume, name="volume-discard"),
    path("hosts/new", enrol_pages.new_host, name="host-new"),
    path("hosts/<str:key>/enrol", enrol_pages.enrol_host, name="host-enrol"),
    path("hosts/<str:key>/volumes", host_pages.host_volumes, name="host-volumes"),
    path("hosts/<str:key>/disks", host_pages.host_disks, name="host-disks"),
    path("hosts/<str:key>/labels", host_list.host_labels, name="host-labels"),
    path("hosts/<str:key>/jobs", host_pages.host_jobs, name="host-jobs"),
    path("hosts/<str:key>/settings", host_pages.host_settings, name="host-settings"),
    path("hosts/<str:key>/ssd", host_actions.add_ssd, name="host-ssd"),
    path("hosts/<str:key>/missing", host_actions.settle_missing, name="host-missing"),
    path("hosts/<str:key>/checks", host_pages.host_checks, name="host-checks"),
    path("hosts/<str:key>/accept", host_actions.accept_host, name="host-accept"),
    path("hosts/<str:key>/remove", host_actions.remove_host, name="host-remove"),
    path("hosts/<str:key>/address", host_actions.set_address, name="host-address"),
    path("hosts/<str:key>/refresh", host_actions.refresh_host, name="host-refresh"),
    path("hosts/<str:key>/maintenance", host_actions.begin_maintenance, name="host-maintenance"),
    path(
        "hosts/<str:key>/maintenance/end", host_actions.end_maintenance, name="host-maintenance-end"
    ),
    path("hosts/<str:key>/window", host_actions.set_window, name="host-window"),
    path("adopt/", adoption_pages.adopt, name="adopt"),
    path("hosts/", host_list.hosts, name="hosts"),
    path("hosts/<str:key>/", host_pages.host, name="host"),
    path("hosts/<str:key>/now", host_pages.host_now, name="host-now"),
    path("hosts/<str:key>/series", chart_pages.host_series, name="host-series"),
    path("hosts/<str:key>/series.csv", chart_pages.host_csv, name="host-csv"),
    path("hosts/<str:key>/marks", chart_pages.host_marks, name="host-marks"),
    path("fleet/series", chart_pages.fleet_series, name="fleet-series"),
    path("fleet/series.csv", chart_pages.fleet_csv, name="fleet-csv"),
    path("hosts/<str:key>/advice", advice_pages.advice, name="host-advice"),
    path("hosts/<str:key>/advice/card", advice_pages.advice_card, name="host-advice-card"),
    path("volumes/", list_pages.volumes, name="volumes"),
    path("volumes/<str:key>/", volume_pages.volume, name="volume"),
    path("volumes/<str:key>/cache/card", volume_pages.cache, name="volume-cache"),
    path("volumes/<str:key>/cache/state", volume_pages.cache_state, name="volume-cache-state"),
    path("volumes/<str:key>/figures", volume_pages.figures, name="volume-figures"),
    path("volumes/<str:key>/series", chart_pages.volume_series, name="volume-series"),
    path("volumes/<str:key>/series.csv", chart_pages.volume_csv, name="volume-csv"),
]
