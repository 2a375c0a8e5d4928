"""A call to the agent: its verb, checked arguments, and refusals.

In: untyped JSON values. Out: checked names and numbers, or a refusal with a code of this list.
"""
