"""The panel's side of a storage host: enrolment, trust, its inventory.

In: a host. Out: requests to its agent by `jobs.transport`, facts for planning and for the records.
"""
