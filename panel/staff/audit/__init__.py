"""Audit pages: operations on hosts, changes of records, sign-ins.

In: filters. Out: pages and an export; nothing here writes.
"""
