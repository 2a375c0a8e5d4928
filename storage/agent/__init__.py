"""The program that runs on a storage host.

Standard library only and relative imports only: the same files are the package
`storage.agent` in the tests and `tiercel_agent` inside the zipapp.
"""

VERSION = "0.1.0"
PROTOCOL = 1
