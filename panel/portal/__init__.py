"""The customers' own pages: their volumes, in plain words, and changes of the cache plan.

Nothing here names a host, a technology or a logical volume, and no tool's output is shown.
"""
