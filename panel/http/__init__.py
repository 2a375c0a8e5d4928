"""What every page shares about requests and answers.

In: requests. Out: the client's address, fragments for htmx, concurrency limits.
"""
