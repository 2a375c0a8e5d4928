"""Endpoints of who may use the panel: people, invitations, members, service accounts, tokens.

In: bodies of each module. Out: the shapes beside them. For admins, but for one's own tokens.
"""
