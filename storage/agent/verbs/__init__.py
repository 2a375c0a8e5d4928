"""The verbs that change something: arguments, commands, checks and estimate of each in one place.

In: a checked call and a view of the host. Out: the commands to run, or a refusal. `registry.py`
lists all verbs, `verb.py` says what a descriptor holds.
"""
