"""From facts that a host sent to the panel's records.

In: an inventory. Out: rows of volumes and placements, the host's summary.
"""
