"""What Tiercel can say of a host it may only look at: who uses the slow disks, what the caches
that are there do, which volume to cache first, and what is risky. Nothing here changes a host.
"""

from storage.analysis.advice.outlook import Outlook, outlook

__all__ = ["Outlook", "outlook"]
