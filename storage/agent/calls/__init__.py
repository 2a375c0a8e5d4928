"""What a call is made of: its verb, checked arguments, and why one is refused.

In: untyped JSON values. Out: checked names and numbers, or a refusal with a code of this list.
"""
