"""What the agent reports: hello, inventory, samples.

In: the machine. Out: typed facts and problems, as JSON.
"""
