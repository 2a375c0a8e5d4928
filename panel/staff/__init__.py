"""Pages of the provider's staff, one folder for each subject.

In: requests of staff. Out: pages and htmx fragments; changes go to `jobs.queue.submit`.
"""
