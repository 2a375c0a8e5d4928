"""A volume with everything known about it, and the forms that change it.

In: records and facts. Out: snapshots of volumes, wishes, plans on offer, room on the SSDs.
"""
