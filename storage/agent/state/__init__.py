"""What the agent keeps on the host: policy, owner, fences, boot state.

In: what root and the panel set. Out: what may be done, and what is started after a restart.
"""
