"""An operation from its request to its end, with its journal.

In: a checked call and a fence. Out: commands run, or a refusal; records that survive a restart.
"""
