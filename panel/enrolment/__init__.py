"""What a host requests during enrolment: the script and the agent.

In: a token from the enrolment command. Out: a shell script, `agent.pyz`, and the host's report.
"""
