"""The API `/api/v1`: the same rules as the pages, for programs. `docs/api.md` shows a session."""

FEATURES = (
    "alerts",
    "audit",
    "cache-plans",
    "customers",
    "dry-run",
    "idempotency-key",
    "job-lines",
    "series",
    "wait",
    "wish",
)
"""What this panel can do; a name is never taken away within `/v1`."""
