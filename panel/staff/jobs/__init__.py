"""Pages of jobs: list, one job with its log, holds and decisions.

In: a job's key. Out: pages, and what a person decides about a job.
"""
