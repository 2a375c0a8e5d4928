"""Verb and arguments to exact commands.

In: a checked call. Out: commands in order, with their marks on volumes. Pure but for `sysfs`.
"""
