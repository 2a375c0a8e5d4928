"""The panel's settings for tests.

pytest-django reads the settings before any conftest runs, so the environment is set here, before
they are made: nothing of this checkout's own secrets, and static files without a manifest.
"""

import os

from panel.management.commands import secrets

os.environ.update(secrets.make_secrets(), TIERCEL_DEBUG="1", TIERCEL_DB_ROLE="app", PORT="8000")
# Relaxed: the tests of it switch it on.
os.environ["TIERCEL_STAFF_NEED_SECOND_FACTOR"] = "0"
# Relaxed too: most customers of the tests gave no payment authorisation.
os.environ["TIERCEL_MANDATE_REQUIRED"] = "0"
# And the whole run comes from one address: the tests of the limits set their own.
os.environ.update(TIERCEL_API_TOKEN_RATE="1000000", TIERCEL_API_ADDRESS_RATE="1000000")
os.environ["TIERCEL_SIGN_INS_A_MINUTE"] = "1000000"
os.environ["TIERCEL_PUBLIC_URL"] = "http://localhost:8000"

# For the programs that tests start; pytest itself gets --ds.
os.environ["DJANGO_SETTINGS_MODULE"] = "panel.settings"

from panel.settings import *  # noqa: F403
from panel.settings import BASE_DIR
from storage import row_security

# What a test itself writes and reads; the requests it sends stand within walls of their own.
row_security.open_process()

# Tests that count queries do not meet the one a minute; the tests of sessions switch it on.
USERSESSIONS_TRACK_ACTIVITY = False
# Files are served as they lie in the source: what collectstatic once gathered may be old.
STATIC_ROOT = BASE_DIR / "var" / "no-static"
