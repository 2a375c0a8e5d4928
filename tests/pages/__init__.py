"""`make pages`: the panel on an invented fleet, to look at."""
