"""One suite for the agent, run against the fake host and against the lab: the fake cannot lie."""
