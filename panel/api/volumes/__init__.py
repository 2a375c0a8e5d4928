"""Endpoints of volumes: lists, figures, new ones, and the wish of each.

In: bodies of `panel.api.bodies`. Out: shapes of `panel.api.shapes`, previews and jobs.
"""
