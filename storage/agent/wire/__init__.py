"""The agent's side of the channel: lines, verbs and their arguments, errors.

In: request lines. Out: checked requests, reply lines. Every value passes `names`.
"""
