"""The customers' own pages: their volumes, in their words, and the change of a cache plan.

Nothing here names a host, a technology or a logical volume, and no tool's output is shown.
"""
