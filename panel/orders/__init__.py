"""Orders: a customer's change of plan, from the request to its end.

In: an `OrderRequest`. `place_order` takes it and submits the job, `authorisation` decides it,
`due_orders` does what time brings, `completion` ends it with its job. Out: rows of `Order`, and the
signals of `events`.
"""
