"""Pages of volumes: list, one volume, and every change of a volume.

In: a volume's key and a form. Out: pages, and previews and jobs given to `jobs.queue.submit`.
"""
