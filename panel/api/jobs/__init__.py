"""Endpoints of jobs, previews and the audit trail.

In: a job's key and what to do with it. Out: jobs, their steps, audited operations.
"""
