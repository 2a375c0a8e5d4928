"""Advice for an observe-only host: who uses the slow disks, the effect of existing caches, the best
cache candidates, and risks. Nothing here changes a host."""

from storage.analysis.advice.outlook import Outlook, outlook

__all__ = ["Outlook", "outlook"]
