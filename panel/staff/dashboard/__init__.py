"""The first page of staff: what needs attention, and the fleet at a glance.

In: hosts, volumes, jobs and orders. Out: the page and its fragment that refreshes.
"""
