"""`tiercel`, a command line on the API. A wheel of its own (`make cli`), which knows neither Django
nor anything else of the project: only relative imports, click and urllib3. docs/cli.md shows it.

In: arguments, the file of panels, answers of `/api/v1`. Out: text, JSON and an exit code.
"""

VERSION = "0.1.0"
