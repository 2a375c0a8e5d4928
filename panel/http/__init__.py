"""What every page shares about requests and answers.

In: requests. Out: what happens before and after each page, fragments for htmx, concurrency limits.
"""
