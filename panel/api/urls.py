"""Routes of `/api/v1/`."""

from __future__ import annotations

from django.urls import path

from panel.api import disk_endpoints, host_endpoints, root_endpoint
from panel.api.accounts import people_endpoints, token_endpoints
from panel.api.alerts import alert_endpoints, route_endpoints
from panel.api.customers import (
    billing_endpoints,
    cache_plan_endpoints,
    customer_endpoints,
    order_endpoints,
    proof_endpoints,
)
from panel.api.events import event_endpoints, webhook_endpoints
from panel.api.figures import comparison_endpoints, series_endpoints
from panel.api.hosts import hold_endpoints, host_enrolment, inventory_endpoints, timeline_endpoint
from panel.api.jobs import audit_endpoint, bulk_endpoints, job_endpoints
from panel.api.volumes import (
    care_endpoints,
    volume_endpoints,
    wish_endpoint,
)

urlpatterns = [
    path("", root_endpoint.Root.as_view(), name="api-root"),
    path("openapi.json", root_endpoint.OpenApiJson.as_view(), name="api-openapi"),
    path("openapi.yaml", root_endpoint.OpenApiYaml.as_view(), name="api-openapi-yaml"),
    path("hosts/", host_endpoints.Hosts.as_view(), name="api-hosts"),
    path("hosts/<str:key>", host_endpoints.OneHost.as_view(), name="api-host"),
    path(
        "hosts/<str:key>/enrolment",
        host_enrolment.HostEnrolment.as_view(),
        name="api-host-enrolment",
    ),
    path("hosts/<str:key>/accept", host_enrolment.HostKey.as_view(), name="api-host-accept"),
    path("hosts/<str:key>/refresh", host_enrolment.HostRefresh.as_view(), name="api-host-refresh"),
    path(
        "hosts/<str:key>/maintenance",
        hold_endpoints.HostMaintenance.as_view(),
        name="api-host-maintenance",
    ),
    path(
        "hosts/<str:key>/missing", hold_endpoints.MissingVolumes.as_view(), name="api-host-missing"
    ),
    path(
        "hosts/<str:key>/missing/settle",
        hold_endpoints.MissingVolumesSettled.as_view(),
        name="api-host-missing-settle",
    ),
    path(
        "hosts/<str:key>/inventory",
        inventory_endpoints.HostInventory.as_view(),
        name="api-host-inventory",
    ),
    path(
        "hosts/<str:key>/advice", inventory_endpoints.HostAdvice.as_view(), name="api-host-advice"
    ),
    path("halt", hold_endpoints.AllJobsStop.as_view(), name="api-halt"),
    path("hosts/<str:key>/ssds", host_endpoints.HostSsds.as_view(), name="api-host-ssds"),
    path("hosts/<str:key>/disks", disk_endpoints.HostDisks.as_view(), name="api-host-disks"),
    path(
        "hosts/<str:key>/disks/<str:disk>",
        disk_endpoints.OneDisk.as_view(),
        name="api-host-disk",
    ),
    path(
        "hosts/<str:key>/disks/<str:disk>/tests",
        disk_endpoints.DiskTests.as_view(),
        name="api-host-disk-tests",
    ),
    path("hosts/<str:key>/arrays", disk_endpoints.HostArrays.as_view(), name="api-host-arrays"),
    path(
        "hosts/<str:key>/arrays/<str:array>/check",
        disk_endpoints.ArrayChecks.as_view(),
        name="api-host-array-check",
    ),
    path(
        "hosts/<str:key>/arrays/<str:array>/members",
        host_endpoints.ArrayMembers.as_view(),
        name="api-host-array-members",
    ),
    path("hosts/<str:key>/events", timeline_endpoint.HostEvents.as_view(), name="api-host-events"),
    path(
        "hosts/<str:key>/events/<str:event>/comparison",
        timeline_endpoint.HostRestartComparison.as_view(),
        name="api-host-restart-comparison",
    ),
    path("hosts/<str:key>/faults", host_endpoints.HostFaults.as_view(), name="api-host-faults"),
    path(
        "hosts/<str:key>/faults/<str:fault>/acceptance",
        host_endpoints.FaultAcceptance.as_view(),
        name="api-host-fault-acceptance",
    ),
    path("hosts/<str:key>/series", series_endpoints.HostSeries.as_view(), name="api-host-series"),
    path(
        "hosts/<str:key>/disk-users",
        comparison_endpoints.HostDiskUsers.as_view(),
        name="api-host-disk-users",
    ),
    path(
        "hosts/<str:key>/disks/<str:disk>/writers",
        comparison_endpoints.DiskWriters.as_view(),
        name="api-host-disk-writers",
    ),
    path("fleet/series", series_endpoints.FleetSeries.as_view(), name="api-fleet-series"),
    path("hosts/<str:key>/checks", disk_endpoints.HostChecks.as_view(), name="api-host-checks"),
    path("volumes/", volume_endpoints.Volumes.as_view(), name="api-volumes"),
    path("volumes/<str:key>", volume_endpoints.OneVolume.as_view(), name="api-volume"),
    path("volumes/<str:key>/wish", wish_endpoint.VolumeWish.as_view(), name="api-volume-wish"),
    path(
        "volumes/<str:key>/series",
        series_endpoints.VolumeSeries.as_view(),
        name="api-volume-series",
    ),
    path(
        "volumes/<str:key>/watch", volume_endpoints.VolumeWatch.as_view(), name="api-volume-watch"
    ),
    path(
        "volumes/<str:key>/drift",
        care_endpoints.VolumeDriftView.as_view(),
        name="api-volume-drift",
    ),
    path(
        "volumes/<str:key>/drift/accept",
        care_endpoints.DriftAcceptance.as_view(),
        name="api-volume-drift-accept",
    ),
    path(
        "volumes/<str:key>/drift/repair",
        care_endpoints.DriftRepair.as_view(),
        name="api-volume-drift-repair",
    ),
    path(
        "volumes/<str:key>/cache/drop",
        care_endpoints.LostCacheDrop.as_view(),
        name="api-volume-cache-drop",
    ),
    path(
        "volumes/<str:key>/adoption",
        care_endpoints.VolumeAdoption.as_view(),
        name="api-volume-adoption",
    ),
    path(
        "volumes/<str:key>/outlook",
        billing_endpoints.VolumeOutlook.as_view(),
        name="api-volume-outlook",
    ),
    path("adoptions/", care_endpoints.Adoptions.as_view(), name="api-adoptions"),
    path("bulk-changes/", bulk_endpoints.BulkChanges.as_view(), name="api-bulk-changes"),
    path("bulk-changes/<str:key>", bulk_endpoints.OneBulkChange.as_view(), name="api-bulk-change"),
    path(
        "bulk-changes/<str:key>/cancel",
        bulk_endpoints.BulkChangeCancel.as_view(),
        name="api-bulk-change-cancel",
    ),
    path(
        "customers/<str:key>/suspension",
        billing_endpoints.CustomerSuspension.as_view(),
        name="api-customer-suspension",
    ),
    path("jobs/", job_endpoints.Jobs.as_view(), name="api-jobs"),
    path("jobs/<str:key>", job_endpoints.OneJob.as_view(), name="api-job"),
    path(
        "jobs/<str:key>/comparison",
        comparison_endpoints.JobComparisonView.as_view(),
        name="api-job-comparison",
    ),
    path("jobs/<str:key>/lines", job_endpoints.JobLines.as_view(), name="api-job-lines"),
    path("jobs/<str:key>/apply", job_endpoints.PreviewApply.as_view(), name="api-job-apply"),
    path("jobs/<str:key>/cancel", job_endpoints.JobCancel.as_view(), name="api-job-cancel"),
    path("jobs/<str:key>/pace", job_endpoints.JobPace.as_view(), name="api-job-pace"),
    path("jobs/<str:key>/resume", job_endpoints.JobResume.as_view(), name="api-job-resume"),
    path("jobs/<str:key>/rollback", job_endpoints.JobRollback.as_view(), name="api-job-rollback"),
    path("jobs/<str:key>/resolve", job_endpoints.JobResolve.as_view(), name="api-job-resolve"),
    path("alerts/", alert_endpoints.Alerts.as_view(), name="api-alerts"),
    path("alerts/<str:key>", alert_endpoints.OneAlert.as_view(), name="api-alert"),
    path(
        "alerts/<str:key>/acknowledgement",
        alert_endpoints.AlertAcknowledgement.as_view(),
        name="api-alert-acknowledgement",
    ),
    path("silences/", alert_endpoints.Silences.as_view(), name="api-silences"),
    path("silences/<str:key>", alert_endpoints.OneSilence.as_view(), name="api-silence"),
    path("silences/<str:key>/end", alert_endpoints.SilenceEnd.as_view(), name="api-silence-end"),
    path("alert-routes/", route_endpoints.AlertRoutes.as_view(), name="api-alert-routes"),
    path(
        "alert-routes/gaps", route_endpoints.AlertRouteGaps.as_view(), name="api-alert-route-gaps"
    ),
    path("alert-routes/own", route_endpoints.OwnAlertRoutes.as_view(), name="api-own-alert-routes"),
    path(
        "alert-routes/own/<str:key>",
        route_endpoints.OneOwnAlertRoute.as_view(),
        name="api-own-alert-route",
    ),
    path("alert-routes/<str:key>", route_endpoints.OneAlertRoute.as_view(), name="api-alert-route"),
    path(
        "alert-routes/<str:key>/test",
        route_endpoints.AlertRouteTest.as_view(),
        name="api-alert-route-test",
    ),
    path(
        "alert-routes/<str:key>/messages",
        route_endpoints.AlertMessages.as_view(),
        name="api-alert-messages",
    ),
    path(
        "alert-routes/<str:key>/messages/<str:message>/again",
        route_endpoints.AlertMessageAgain.as_view(),
        name="api-alert-message-again",
    ),
    path("events/", event_endpoints.Events.as_view(), name="api-events"),
    path("webhooks/", webhook_endpoints.Webhooks.as_view(), name="api-webhooks"),
    path("webhooks/<str:key>", webhook_endpoints.OneWebhook.as_view(), name="api-webhook"),
    path(
        "webhooks/<str:key>/secret",
        webhook_endpoints.WebhookSecret.as_view(),
        name="api-webhook-secret",
    ),
    path(
        "webhooks/<str:key>/test", webhook_endpoints.WebhookTest.as_view(), name="api-webhook-test"
    ),
    path(
        "webhooks/<str:key>/deliveries",
        webhook_endpoints.WebhookDeliveries.as_view(),
        name="api-webhook-deliveries",
    ),
    path(
        "webhooks/<str:key>/deliveries/<str:delivery>/redeliver",
        webhook_endpoints.WebhookRedelivery.as_view(),
        name="api-webhook-redeliver",
    ),
    path("audit/", audit_endpoint.Audit.as_view(), name="api-audit"),
    path("customers/", customer_endpoints.Customers.as_view(), name="api-customers"),
    path("customers/<str:key>", customer_endpoints.OneCustomer.as_view(), name="api-customer"),
    path(
        "customers/<str:key>/mandate",
        customer_endpoints.CustomerMandate.as_view(),
        name="api-mandate",
    ),
    path(
        "volumes/<str:key>/orders", order_endpoints.VolumeOrders.as_view(), name="api-volume-orders"
    ),
    path(
        "customers/<str:key>/members",
        people_endpoints.CustomerMembers.as_view(),
        name="api-customer-members",
    ),
    path("members/<str:key>", people_endpoints.OneMember.as_view(), name="api-member"),
    path("people/", people_endpoints.People.as_view(), name="api-people"),
    path("people/<str:key>", people_endpoints.OnePerson.as_view(), name="api-person"),
    path(
        "people/<str:key>/sessions",
        people_endpoints.PersonSessions.as_view(),
        name="api-person-sessions",
    ),
    path(
        "people/<str:key>/password-link",
        people_endpoints.PersonPassword.as_view(),
        name="api-person-password",
    ),
    path(
        "service-accounts/",
        people_endpoints.ServiceAccounts.as_view(),
        name="api-service-accounts",
    ),
    path("invitations/", people_endpoints.Invitations.as_view(), name="api-invitations"),
    path("invitations/<str:key>", people_endpoints.OneInvitation.as_view(), name="api-invitation"),
    path(
        "invitations/<str:key>/again",
        people_endpoints.InvitationAgain.as_view(),
        name="api-invitation-again",
    ),
    path("tokens/", token_endpoints.Tokens.as_view(), name="api-tokens"),
    path("tokens/<str:key>", token_endpoints.OneToken.as_view(), name="api-token"),
    path("tokens/<str:key>/end", token_endpoints.TokenEnd.as_view(), name="api-token-end"),
    path(
        "tokens/<str:key>/rotate", token_endpoints.TokenRotation.as_view(), name="api-token-rotate"
    ),
    path("orders/", order_endpoints.Orders.as_view(), name="api-orders"),
    path("orders/<str:key>", order_endpoints.OneOrder.as_view(), name="api-order"),
    path("orders/<str:key>/cancel", order_endpoints.OrderCancel.as_view(), name="api-order-cancel"),
    path("orders/<str:key>/revert", order_endpoints.OrderRevert.as_view(), name="api-order-revert"),
    path("orders/<str:key>/proof", proof_endpoints.OrderProof.as_view(), name="api-order-proof"),
    path("proofs/", proof_endpoints.Proofs.as_view(), name="api-proofs"),
    path("cache-plans/", cache_plan_endpoints.CachePlans.as_view(), name="api-cache-plans"),
    path(
        "cache-plans/<str:key>", cache_plan_endpoints.OneCachePlan.as_view(), name="api-cache-plan"
    ),
    path("<path:path>", root_endpoint.Nothing.as_view(), name="api-nothing"),
]
