"""What is wrong with hosts and volumes, and what to do about it.

In: facts, records and wishes. Out: problems, drift, leftovers, lost caches. Nothing here acts.
"""
