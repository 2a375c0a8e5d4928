"""The panel's settings for looking at pages: static files as they lie in the source, but the error
pages of production."""

from panel.settings import *  # noqa: F403

DEBUG = False
TIERCEL_STAFF_NEED_SECOND_FACTOR = False
