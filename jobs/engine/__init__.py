"""How a worker runs a job to its end, one step after the other.

In: a queued job. Out: steps on the host, rollbacks and decisions, each recorded by
`jobs.audit_trail`.
"""
