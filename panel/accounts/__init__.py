"""People, their invitations, sessions and API tokens.

In: forms of staff and of people themselves. Out: users and their rights, sessions, tokens.
"""
