"""What every list of the staff's pages has: an order, pages and their size, CSV, saved views.

In: a request and the rows that its filters leave. Out: `listing.ListPage`, which the parts
`templates/parts/list_*.html` show, or a file.
"""
