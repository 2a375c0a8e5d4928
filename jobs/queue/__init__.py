"""How a job gets into the queue, and out of it.

In: a wish with its requester, from a page, the API or an order. Out: queued jobs and previews;
workers learn of them by `jobs.notify_workers`.
"""
