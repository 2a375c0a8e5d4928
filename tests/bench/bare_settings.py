"""The settings of `tests.bench.bare_api`: the panel's models and database, without its middleware,
its URLs and what it sets of Django REST framework. Sessions are read where a view asks."""

from panel.settings import *  # noqa: F403

ROOT_URLCONF = "tests.bench.bare_api"
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # Without it, an app of the panel refuses to start.
    "allauth.account.middleware.AccountMiddleware",
]
REST_FRAMEWORK: dict[str, object] = {}
