"""What hosts are and have done: customers, hosts, volumes, caches, samples, and pure planning over
facts.

Never opens SSH, never enqueues.
"""
