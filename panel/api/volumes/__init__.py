"""Endpoints of volumes: lists, figures, new ones, and the wish of each.

In: bodies of `panel.api.request_bodies`. Out: shapes of `panel.api.response_shapes`, previews and
jobs.
"""
