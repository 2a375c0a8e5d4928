"""Conclusions from figures: before against after, forecasts, advice.

In: samples of `storage.metrics`. Out: verdicts, expectations and suggestions.
"""
