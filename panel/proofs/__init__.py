"""Proof that an order did what it was bought for: the time before it against the time after it, as
measured, with an honest word on how sure that is. The statistics are
`storage.analysis.before_after`'s."""
