"""Pages of hosts: list, one host, enrolment, adding an SSD, advice.

In: a host's key. Out: pages, and jobs that add an SSD.
"""
