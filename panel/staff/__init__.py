"""Pages of the provider's staff, one folder for each thing they look after.

In: requests of staff. Out: pages and htmx fragments; changes go to `jobs.queue.submit`.
"""
