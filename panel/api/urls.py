"""Routes of `/api/v1/`."""

from __future__ import annotations

from django.urls import path

from panel.api import disk_endpoints, host_endpoints, root_endpoint
from panel.api.alerts import alert_endpoints, route_endpoints
from panel.api.customers import (
    cache_plan_endpoints,
    customer_endpoints,
    order_endpoints,
    proof_endpoints,
)
from panel.api.jobs import audit_endpoint, job_endpoints
from panel.api.volumes import volume_endpoints, wish_endpoint
from panel.billing import signed_calls as billing_endpoint

urlpatterns = [
    path("", root_endpoint.Root.as_view(), name="api-root"),
    path("openapi.json", root_endpoint.OpenApiJson.as_view(), name="api-openapi"),
    path("openapi.yaml", root_endpoint.OpenApiYaml.as_view(), name="api-openapi-yaml"),
    path("hosts/", host_endpoints.Hosts.as_view(), name="api-hosts"),
    path("hosts/<str:key>", host_endpoints.OneHost.as_view(), name="api-host"),
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
    path("hosts/<str:key>/events", host_endpoints.HostEvents.as_view(), name="api-host-events"),
    path("hosts/<str:key>/faults", host_endpoints.HostFaults.as_view(), name="api-host-faults"),
    path(
        "hosts/<str:key>/faults/<str:fault>/acceptance",
        host_endpoints.FaultAcceptance.as_view(),
        name="api-host-fault-acceptance",
    ),
    path("hosts/<str:key>/checks", disk_endpoints.HostChecks.as_view(), name="api-host-checks"),
    path("volumes/", volume_endpoints.Volumes.as_view(), name="api-volumes"),
    path("volumes/<str:key>", volume_endpoints.OneVolume.as_view(), name="api-volume"),
    path("volumes/<str:key>/wish", wish_endpoint.VolumeWish.as_view(), name="api-volume-wish"),
    path(
        "volumes/<str:key>/series",
        volume_endpoints.VolumeSeries.as_view(),
        name="api-volume-series",
    ),
    path("jobs/", job_endpoints.Jobs.as_view(), name="api-jobs"),
    path("jobs/<str:key>", job_endpoints.OneJob.as_view(), name="api-job"),
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
    path("alert-routes/", route_endpoints.AlertRoutes.as_view(), name="api-alert-routes"),
    path(
        "alert-routes/gaps", route_endpoints.AlertRouteGaps.as_view(), name="api-alert-route-gaps"
    ),
    path("alert-routes/<str:key>", route_endpoints.OneAlertRoute.as_view(), name="api-alert-route"),
    path(
        "alert-routes/<str:key>/test",
        route_endpoints.AlertRouteTest.as_view(),
        name="api-alert-route-test",
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
    *billing_endpoint.urlpatterns,
    path("<path:path>", root_endpoint.Nothing.as_view(), name="api-nothing"),
]
