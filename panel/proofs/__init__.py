"""Proofs: whether an order achieved what it was bought for. They compare the measured time before
and after it and say how certain the result is. The statistics are in
`storage.analysis.before_after`."""
