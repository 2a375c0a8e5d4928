"""Heat: how soon what a volume reads and writes is read or written again, in counts alone.

A resident service (`agent.pyz heat`) has a trace instance of its own in the kernel, which samples
1/64 of the chunks of the volumes that the panel names. From that it keeps histograms of reuse
times; addresses stay in its memory.
"""
