"""`make demo`: the whole panel on one machine, with a real storage host beside it."""
