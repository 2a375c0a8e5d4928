"""Endpoints of volumes: lists, figures, new ones, and the wish of each.

In: bodies and parameters of each module. Out: their shapes, previews and jobs.
"""
