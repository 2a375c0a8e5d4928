"""Settings of Django REST framework and of its OpenAPI description."""

TAGS = {
    "adoptions": "Found volumes that get a customer.",
    "bulk-changes": "One change for many volumes.",
    "messages": "Messages to the billing system.",
    "alert-routes": "Alert recipients.",
    "alerts": "Problems that recipients are notified of.",
    "audit": "Every operation that was sent to a host.",
    "billing": "Signed calls of the billing system.",
    "cache-plans": "What is sold.",
    "events": "What happened, as a list and as webhooks.",
    "customers": "Customers, their payment authorisation and their people.",
    "fleet": "All hosts together.",
    "halt": "The stop of all jobs.",
    "hosts": "Storage hosts, their disks and arrays.",
    "invitations": "One-time links for new people.",
    "jobs": "Work on hosts, and previews of it.",
    "members": "Who belongs to which customer.",
    "orders": "Changes of plan.",
    "people": "Accounts of people and programs.",
    "calibration": "How forecasts held against what was measured.",
    "proofs": "What changes of plan brought.",
    "service-accounts": "Accounts of programs.",
    "silences": "Alerts that notify no one.",
    "tag-limits": "From which read time on volumes are slow on hosts with a tag.",
    "tokens": "Keys of programs.",
    "v1": "The root of the API.",
    "volumes": "Volumes, their wishes and figures.",
    "webhooks": "Where events are sent.",
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "panel.api.framework.authentication.Bearer",
        "panel.api.framework.authentication.Session",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["panel.api.framework.rendering.JsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["panel.api.framework.parsing.PlainJson"],
    "DEFAULT_SCHEMA_CLASS": "panel.api.framework.described.OperationSchema",
    "EXCEPTION_HANDLER": "panel.api.framework.problem.problem_answer",
    # ?format= is an unknown parameter like any other.
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "OAS_VERSION": "3.1.1",
    "TITLE": "Tiercel",
    "DESCRIPTION": "Caches on SSD for the volumes of storage hosts. Errors are RFC 9457 problems. "
    "Within a version, fields, values of enumerations, error codes and addresses are added and "
    "none is taken away: a client passes over what it does not know.",
    "LICENSE": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    "SERVERS": [{"url": "/", "description": "The panel that serves this document."}],
    "TAGS": [{"name": name, "description": text} for name, text in TAGS.items()],
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_AUTHENTICATION": [],
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "panel.api.framework.described.completed",
        "panel.api.events.event_messages.add_webhooks",
    ],
    # A form of its own for PATCH: without it, what is required would be said wrongly.
    "COMPONENT_SPLIT_PATCH": True,
    "ENUM_NAME_OVERRIDES": {
        "JobState": "jobs.models.State",
        "StepState": "jobs.models.StepState",
        "HostState": "panel.api.host_endpoints.HOST_STATES",
        "VolumeState": "panel.api.volumes.volume_resource.STATES",
        "CacheMode": "panel.api.volumes.wish_shapes.MODES",
        "DiskState": "panel.api.disk_endpoints.DISK_STATES",
        "CheckKind": "jobs.models.CheckKind",
        "CheckState": "jobs.models.CheckState",
        "MessageState": "panel.api.events.outgoing_shape.MESSAGE_STATES",
        "WhenEnum": "panel.api.customers.order_endpoints.ORDER_WHENS",
        "VerdictEnum": "panel.api.customers.proof_endpoints.VERDICTS",
        "DestroyWhen": "panel.api.volumes.wish_changes.WHENS",
        "MemberRole": "panel.api.accounts.people_endpoints.MEMBER_ROLES",
        "StaffRole": "panel.api.accounts.people_endpoints.STAFF_ROLES",
        "ErrorCode": "panel.api.framework.described.CODE_CHOICES",
    },
}
