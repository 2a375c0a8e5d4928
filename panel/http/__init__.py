"""What every page shares about a request and its answer.

In: requests. Out: the client's address, fragments for htmx, limits of how many run at once.
"""
