"""What a cache of each size would bring, from the reuse times of a volume's own traffic. Pure.

In: records of heat, the volume's waits, its host's rates. Out: hit rates, read times and waiting
saved for each size, with bounds.
"""
