"""The last report of a host, and its devices as a tree.

In: stored facts of a host. Out: typed facts, disks, and which device lies on which.
"""
