"""Settings of Django REST framework and of its OpenAPI description."""

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "panel.api.framework.authentication.Bearer",
        "panel.api.framework.authentication.Session",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["panel.api.framework.parsing.PlainJson"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "panel.api.framework.problem.answer",
    # ?format= is an unknown parameter like any other.
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "OAS_VERSION": "3.1.1",
    "TITLE": "Tiercel",
    "DESCRIPTION": "Caches on SSD for the volumes of storage hosts. Errors are RFC 9457 problems.",
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_AUTHENTICATION": [],
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "panel.api.framework.described.completed",
    ],
    # A form of its own for PATCH: without it, what is required would be said wrongly.
    "COMPONENT_SPLIT_PATCH": True,
    "ENUM_NAME_OVERRIDES": {
        "JobState": "jobs.models.State",
        "StepState": "jobs.models.StepState",
        "HostState": "panel.api.response_shapes.HOST_STATES",
        "VolumeState": "panel.api.response_shapes.STATES",
        "CacheMode": "panel.api.response_shapes.MODES",
        "DiskState": "panel.api.disk_endpoints.DISK_STATES",
        "CheckKind": "jobs.models.CheckKind",
        "CheckState": "jobs.models.CheckState",
    },
}
