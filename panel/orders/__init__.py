"""Orders: a customer's change of plan, from the wish to its end.

`place` takes one, `decide` is the billing system's word (or the customer's second thought),
`settle` what becomes of it when its job is over. Only `moves` writes `Order.state`.
"""
