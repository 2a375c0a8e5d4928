"""The program that runs on a storage host.

Standard library only and relative imports only: the same files are the package
`storage.agent` in the tests and `tiercel_agent` inside the zipapp.
"""

# Raised with every change of what the agent does: the panel names hosts with an older one.
VERSION = "0.3.0"
PROTOCOL = 1
# Bytes of one reply line.
REPLY_LIMIT = 4 * 1024 * 1024
