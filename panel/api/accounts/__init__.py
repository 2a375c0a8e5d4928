"""Endpoints of who may use the panel: people, invitations, members, service accounts, tokens.

In: bodies of each module. Out: their shapes. For admins, except one's own tokens.
"""
