"""People: their invitations, sessions, API tokens and proofs of identity, and the pages that every
person has.

In: forms of staff and of people themselves. Out: users and their rights, sessions, tokens.
"""
