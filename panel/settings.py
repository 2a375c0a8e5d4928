"""All settings, from the environment (`docs/production.md` lists every variable)."""

from pathlib import Path
from urllib.parse import urlsplit

from panel.api.framework.drf_settings import REST_FRAMEWORK as REST_FRAMEWORK
from panel.api.framework.drf_settings import SPECTACULAR_SETTINGS as SPECTACULAR_SETTINGS
from panel.configuration.environment import Environment, broker, database
from panel.operations import local_services

BASE_DIR = Path(__file__).resolve().parent.parent
ENVIRONMENT = env = Environment(BASE_DIR / "var" / "secrets.env")
place = local_services.here()

DEBUG = env.flag("TIERCEL_DEBUG")
SECRET_KEY = env.text("TIERCEL_SECRET_KEY")
# Former ones, while it is changed: what they signed and sealed is still read.
SECRET_KEY_FALLBACKS = env.words("TIERCEL_SECRET_KEY_FALLBACKS")

# The address people and hosts reach the panel by.
TIERCEL_PUBLIC_URL = env.text(
    "TIERCEL_PUBLIC_URL", f"http://localhost:{env.whole('PORT', place.last_port())}"
).rstrip("/")
public = urlsplit(TIERCEL_PUBLIC_URL)
IS_HTTPS = public.scheme == "https"
# A text shown on every page, such as "this is a fake host".
TIERCEL_NOTICE = env.text("TIERCEL_NOTICE")
# While this text is set, every page says it instead of doing its work.
TIERCEL_MAINTENANCE = env.text("TIERCEL_MAINTENANCE")
# Whether customers change the cache plan of their volumes themselves.
TIERCEL_CUSTOMERS_MAY_ORDER = env.flag("TIERCEL_CUSTOMERS_MAY_ORDER")
# Whether staff without a second factor are led to set one up before anything else.
TIERCEL_STAFF_NEED_SECOND_FACTOR = env.flag("TIERCEL_STAFF_NEED_SECOND_FACTOR", default=True)
# How long a sign-in or confirmation counts as fresh for orders and destructive actions.
TIERCEL_STEP_UP_SECONDS = env.whole("TIERCEL_STEP_UP_SECONDS", 300, least=1)
# A session ends after so long without use, and in any case so long after it began: for staff, and
# for customers.
TIERCEL_STAFF_IDLE_SECONDS = env.whole("TIERCEL_STAFF_IDLE_SECONDS", 3600, least=60)
TIERCEL_STAFF_SESSION_SECONDS = env.whole("TIERCEL_STAFF_SESSION_SECONDS", 12 * 3600, least=60)
TIERCEL_IDLE_SECONDS = env.whole("TIERCEL_IDLE_SECONDS", 7 * 86_400, least=60)
TIERCEL_SESSION_SECONDS = env.whole("TIERCEL_SESSION_SECONDS", 30 * 86_400, least=60)
# Host keys are sealed with the public half; only worker and collector are given the secret one.
TIERCEL_HOST_KEYS_PUBLIC = env.text("TIERCEL_HOST_KEYS_PUBLIC")
TIERCEL_HOST_KEYS_SECRET = env.text("TIERCEL_HOST_KEYS_SECRET")
TIERCEL_HOST_KEYS_SECRET_FALLBACKS = env.words("TIERCEL_HOST_KEYS_SECRET_FALLBACKS")
# Requests a second that one token, and one address, may send to the API for long.
TIERCEL_API_TOKEN_RATE = env.whole("TIERCEL_API_TOKEN_RATE", 5, least=1)
TIERCEL_API_ADDRESS_RATE = env.whole("TIERCEL_API_ADDRESS_RATE", 20, least=1)
# And forms of the account (a sign-in, a code) that one address may, in a minute.
TIERCEL_SIGN_INS_A_MINUTE = env.whole("TIERCEL_SIGN_INS_A_MINUTE", 30, least=1)

# --- HTTP ---------------------------------------------------------------------------------------

# Loopback always: the health checks ask there.
ALLOWED_HOSTS = [
    host
    for host in (
        public.hostname,
        *env.words("TIERCEL_ALLOWED_HOSTS"),
        "localhost",
        "127.0.0.1",
        "[::1]",
    )
    if host
]
CSRF_TRUSTED_ORIGINS = [TIERCEL_PUBLIC_URL] if IS_HTTPS else []
if env.flag("TIERCEL_TRUST_PROXY"):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    # Else the limits of sign-in count everybody as one address: the proxy's.
    ALLAUTH_TRUSTED_PROXY_COUNT = 1
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = IS_HTTPS
SESSION_COOKIE_AGE = max(TIERCEL_STAFF_SESSION_SECONDS, TIERCEL_SESSION_SECONDS)
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
# By https a browser then takes them from this very host alone, for the whole of it.
HOST_ONLY = "__Host-" if IS_HTTPS else ""
KNOWN_BROWSER_COOKIE = f"{HOST_ONLY}known"
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"{HOST_ONLY}sessionid", f"{HOST_ONLY}csrftoken"
# Sent by https alone. A year; not for other names of the domain, which are not ours to decide.
SECURE_HSTS_SECONDS = env.whole("TIERCEL_HSTS_SECONDS", 31_536_000)
SECURE_HSTS_INCLUDE_SUBDOMAINS = env.flag("TIERCEL_HSTS_SUBDOMAINS")
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# TLS, and so the redirect to it, is the operator's proxy's; HSTS is a choice (above).
SILENCED_SYSTEM_CHECKS = ["security.W004", "security.W005", "security.W008", "security.W021"] + (
    [] if IS_HTTPS else ["security.W012", "security.W016"]
)

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
}

INSTALLED_APPS = [
    "panel.apps.PanelConfig",
    "jobs",
    "storage",
    "django.contrib.auth",
    "django.contrib.humanize",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "panel.apps.StaticConfig",
    "django_htmx",
    "pgtrigger",
    "pghistory",
    "rest_framework",
    "drf_spectacular",
    "csp",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
]

MIDDLEWARE = [
    "panel.http.request_log.RequestIdMiddleware",
    "panel.http.middleware.HeaderMiddleware",
    "panel.http.middleware.HostMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "panel.api.framework.rate_limits.LimitMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "panel.http.middleware.MaintenanceMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "panel.accounts.sessions.SessionEndMiddleware",
    "panel.http.middleware.RowScopeMiddleware",
    "panel.languages.choice.LanguageMiddleware",
    "panel.http.middleware.AccessMiddleware",
    "panel.http.middleware.SessionActivityMiddleware",
    "panel.http.middleware.NullCharacterMiddleware",
    "panel.http.middleware.HistoryMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "panel.http.unparted_figures.FigureMiddleware",
]

ROOT_URLCONF = "panel.urls"
WSGI_APPLICATION = "panel.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "panel.accounts.context_processors.notice",
                "panel.accounts.context_processors.rights",
                "panel.accounts.context_processors.halt",
                "panel.accounts.context_processors.alerts",
                "panel.accounts.context_processors.tour",
                "panel.accounts.context_processors.factors",
                "panel.staff.jobs.running_menu.menu",
            ],
            "builtins": [f"panel.templatetags.{name}" for name in ("chips", "parts", "terms")],
        },
    }
]

# --- PostgreSQL and Redis -----------------------------------------------------------------------

# Two roles: the app's owns nothing, so that row-level security can bind it; the owner's is for
# `manage.py migrate`, which chooses it by TIERCEL_DB_ROLE.
DATABASE_URL = env.text("DATABASE_URL") or place.database_url("tiercel_app")
DATABASE_OWNER_URL = env.text("DATABASE_OWNER_URL") or (
    "" if env.text("DATABASE_URL") else place.database_url("tiercel_owner")
)
IS_OWNER = env.text("TIERCEL_DB_ROLE", "app") == "owner"
DATABASES = {"default": database(DATABASE_OWNER_URL or DATABASE_URL if IS_OWNER else DATABASE_URL)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env.text("REDIS_URL") or place.redis_url
CACHES = {
    "default": {
        "BACKEND": "panel.configuration.redis_client.JsonCache",
        "LOCATION": REDIS_URL,
        # Apart from what an older panel wrote there in its own way.
        "KEY_PREFIX": "json",
        "OPTIONS": {"serializer": "panel.configuration.redis_client.JsonSerializer"},
    }
}

# --- People -------------------------------------------------------------------------------------

AUTH_USER_MODEL = "panel.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = ["panel.accounts.authentication.passwords.BackgroundHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": name}
    for name in (
        "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "django.contrib.auth.password_validation.MinimumLengthValidator",
        "django.contrib.auth.password_validation.CommonPasswordValidator",
        "panel.accounts.authentication.passwords.OwnWordsValidator",
    )
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "panel.accounts.authentication.allauth_adapter.ClosedAdapter"
ACCOUNT_FORMS = {
    "login": "panel.accounts.authentication.allauth_forms.SignInForm",
    "change_password": "panel.accounts.authentication.allauth_forms.ChangePasswordForm",
    "reset_password": "panel.accounts.authentication.allauth_forms.ForgottenPasswordForm",
    "reset_password_from_key": "panel.accounts.authentication.allauth_forms.NewPasswordForm",
    "add_email": "panel.accounts.authentication.allauth_forms.AddressForm",
}
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "mandatory"
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[Tiercel] "
# Send no mail to unknown addresses; otherwise anyone could make the panel mail strangers.
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_DEFAULT_HTTP_PROTOCOL = public.scheme
ACCOUNT_LOGOUT_ON_GET = False
# When and from where each session was last used (`panel.http.middleware`).
USERSESSIONS_TRACK_ACTIVITY = True
MFA_ADAPTER = "panel.accounts.authentication.second_factor.SealedAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_TOTP_ISSUER = "Tiercel"
# WebAuthn wants https, but browsers make an exception for localhost.
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = public.hostname == "localhost"

SMTP_HOST = env.text("TIERCEL_SMTP_HOST")
# Printed, a mail's link would let a reader of the log sign in.
MAIL_BY = "smtp" if SMTP_HOST else "console" if DEBUG else "dummy"
EMAIL_BACKEND = f"django.core.mail.backends.{MAIL_BY}.EmailBackend"
EMAIL_HOST = SMTP_HOST
EMAIL_PORT = env.whole("TIERCEL_SMTP_PORT", 587)
EMAIL_HOST_USER = env.text("TIERCEL_SMTP_USER")
EMAIL_HOST_PASSWORD = env.text("TIERCEL_SMTP_PASSWORD")
EMAIL_USE_TLS = env.flag("TIERCEL_SMTP_STARTTLS", default=True)
EMAIL_TIMEOUT = 10
# Compose passes what is not set as an empty text.
DEFAULT_FROM_EMAIL = env.text("TIERCEL_MAIL_FROM") or f"tiercel@{public.hostname}"

# --- Orders -------------------------------------------------------------------------------------

# Address of the billing system (`docs/billing.md`); without it no order is authorised.
TIERCEL_BILLING_URL = env.text("TIERCEL_BILLING_URL")
# What our messages to it are signed with, and its calls to us (two secrets each while one is
# changed); and the hosts in private networks, or without TLS, that messages may go to.
TIERCEL_BILLING_SECRETS = env.words("TIERCEL_BILLING_SECRETS")
TIERCEL_BILLING_IN_SECRETS = env.words("TIERCEL_BILLING_IN_SECRETS")
TIERCEL_BILLING_PRIVATE_HOSTS = env.words("TIERCEL_BILLING_PRIVATE_HOSTS")
# What becomes of an order that the billing system has not decided in time.
TIERCEL_BILLING_TIMEOUT = env.choice("TIERCEL_BILLING_TIMEOUT", "refuse", "approve")
TIERCEL_AUTHORISE_SECONDS = env.whole("TIERCEL_AUTHORISE_SECONDS", 3600, least=1)
# Whether an order for money needs a payment authorisation (a mandate).
TIERCEL_MANDATE_REQUIRED = env.flag("TIERCEL_MANDATE_REQUIRED", default=True)
# Where customers give or raise it.
TIERCEL_REAUTHORISE_URL = env.text("TIERCEL_REAUTHORISE_URL")
TIERCEL_REVERT_DAYS = env.whole("TIERCEL_REVERT_DAYS", 14)
# How long a free trial lasts; 0 = none is offered. A fraction for a short one, to see it work.
TIERCEL_TRIAL_DAYS = env.number("TIERCEL_TRIAL_DAYS", 0)
# Where customers reach support, and the note next to prices, such as "incl. VAT".
TIERCEL_SUPPORT_EMAIL = env.text("TIERCEL_SUPPORT_EMAIL")
TIERCEL_SUPPORT_URL = env.text("TIERCEL_SUPPORT_URL")
TIERCEL_PRICE_NOTE = env.text("TIERCEL_PRICE_NOTE")
# Where customers find the invoices that the billing system writes.
TIERCEL_INVOICES_URL = env.text("TIERCEL_INVOICES_URL")
# A report compares so much time before an order with as much after it, which begins once the cache
# is warm, but no later than this.
TIERCEL_PROOF_SECONDS = env.whole("TIERCEL_PROOF_SECONDS", 7 * 86_400, least=1)
TIERCEL_PROOF_WARM_SECONDS = env.whole("TIERCEL_PROOF_WARM_SECONDS", 2 * 86_400, least=1)

# --- Alerts -------------------------------------------------------------------------------------

# The first recipients of an alert have so long to acknowledge it; then the next tier is notified.
TIERCEL_ALERT_ESCALATE_SECONDS = env.whole("TIERCEL_ALERT_ESCALATE_SECONDS", 1800, least=60)
# The hosts in private networks, or without TLS, that messages of alerts may go to.
TIERCEL_ALERT_PRIVATE_HOSTS = env.words("TIERCEL_ALERT_PRIVATE_HOSTS")
# The same for the events that webhooks get.
TIERCEL_WEBHOOK_PRIVATE_HOSTS = env.words("TIERCEL_WEBHOOK_PRIVATE_HOSTS")
# What is called every minute as long as alerts work: a dead-man's switch elsewhere.
TIERCEL_HEARTBEAT_URL = env.text("TIERCEL_HEARTBEAT_URL")

# --- Text and files -----------------------------------------------------------------------------

LANGUAGE_CODE = "en"
# Of customers' pages and e-mails (`panel.languages`); everything else is English.
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_NAME = f"{HOST_ONLY}language"
LANGUAGE_COOKIE_SECURE = IS_HTTPS
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "var" / "static"
NODE_MODULES = BASE_DIR / "node_modules"
STATICFILES_DIRS = [
    BASE_DIR / "static",
    ("tabler", NODE_MODULES / "@tabler" / "core" / "dist"),
    ("htmx", NODE_MODULES / "htmx.org" / "dist"),
    ("chart", NODE_MODULES / "chart.js" / "dist"),
    ("chart-dates", NODE_MODULES / "chartjs-adapter-date-fns" / "dist"),
    ("chart-zoom", NODE_MODULES / "chartjs-plugin-zoom" / "dist"),
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "panel.http.static_files.HashedFiles"
    },
}
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = DEBUG

# --- Celery -------------------------------------------------------------------------------------

# Messages are hints: JSON, acknowledged early, no results, no ETA, no time limits (a flush lasts
# hours, and a limit would kill the thread pool's process in the middle of a step).
CELERY_BROKER_URL = broker(REDIS_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A worker waits for Redis as long as it takes; the default gives up after 100 tries.
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
# Foreign data under one of Celery's names does not end a worker either.
CELERY_BROKER_CHANNEL_ERROR_RETRY = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # Kombu would keep a copy of each message in Redis until its task begins, for a third of a
    # worker's time: the reaper finds what a worker that died had fetched.
    "ack_emulation": False,
    "socket_timeout": 10,
    "socket_connect_timeout": 5,
    # A request that announces a job must not hang while Redis is away: the reaper finds the job.
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0.2,
    "interval_max": 0.2,
}
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = False
# What talks to hosts has a worker of its own, which alone holds their keys, beside the collector:
# what waits for a host must keep no alert and no mail waiting.
CELERY_TASK_DEFAULT_QUEUE = "housekeeping"
CELERY_TASK_ROUTES = {
    "jobs.tasks.run_due_jobs": {"queue": "jobs"},
    "jobs.tasks.refresh_host": {"queue": "hosts"},
    "jobs.tasks.begin_check": {"queue": "hosts"},
    "jobs.tasks.read_heat": {"queue": "hosts"},
    "jobs.tasks.follow_trace": {"queue": "hosts"},
    "jobs.tasks.follow_benchmark": {"queue": "hosts"},
}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# Celery would open a connection to PostgreSQL for each task. `panel.celery` keeps them, as Django
# does from one request to the next; this says never to Celery's own count.
CELERY_DB_REUSE_MAX = 1 << 62
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_MAX_LOOP_INTERVAL = 5
CELERY_ENABLE_UTC = True
CELERY_TIMEZONE = "UTC"

# Sites whose hosts have workers of their own, with the queue `jobs.SITE`.
TIERCEL_DEDICATED_SITES = env.words("TIERCEL_DEDICATED_SITES")
TIERCEL_COLLECT_SHARDS = env.whole("TIERCEL_COLLECT_SHARDS", 1, least=1)
TIERCEL_SAMPLE_SECONDS = env.whole("TIERCEL_SAMPLE_SECONDS", 60, least=1)
# Older figures are deleted. The database itself gives up nothing of the last week.
TIERCEL_SAMPLES_KEPT_DAYS = env.whole("TIERCEL_SAMPLES_KEPT_DAYS", 30, least=7, most=400)
TIERCEL_5M_KEPT_DAYS = env.whole("TIERCEL_5M_KEPT_DAYS", 400, least=30, most=3660)
TIERCEL_HEAT_KEPT_DAYS = env.whole("TIERCEL_HEAT_KEPT_DAYS", 56, least=7, most=400)
TIERCEL_1H_KEPT_DAYS = env.whole("TIERCEL_1H_KEPT_DAYS", 1095, least=30, most=7320)


def every(seconds: int, task: str, *args: int, **options: str) -> dict[str, object]:
    """A beat entry whose message is dropped when the next one is due."""
    return {
        "task": task,
        "schedule": float(seconds),
        "args": args,
        "options": {**options, "expires": seconds},
    }


# Each task does what is due, so that one missed or doubled does no harm.
CELERY_BEAT_SCHEDULE = {
    "sweep": every(5, "jobs.tasks.sweep"),
    "alerts": every(20, "jobs.tasks.judge_alerts"),
    "refresh-facts": every(300, "jobs.tasks.refresh_facts"),
    "fleet": every(60, "jobs.tasks.add_up_fleet"),
    "pack": every(60, "jobs.tasks.pack"),
    "cache-states": every(60, "jobs.tasks.judge_cache_states"),
    # So a slow volume is reported within three minutes where samples are a minute apart.
    "slow-volumes": every(20, "jobs.tasks.judge_volumes"),
    "caches": every(300, "jobs.tasks.judge_caches"),
    "cache-days": every(1800, "jobs.tasks.judge_cache_days"),
    "restarts": every(1800, "jobs.tasks.judge_restarts"),
    "heat": every(600, "jobs.tasks.collect_heat"),
    "host-rates": every(21_600, "jobs.tasks.measure_hosts"),
    "forecasts": every(3600, "panel.tasks.judge_forecasts"),
    "size-forecasts": every(60, "jobs.tasks.renew_size_forecasts"),
    "keep-partitions": every(3600, "jobs.tasks.keep_partitions"),
    "orders": every(5, "panel.tasks.sweep_orders"),
    "proofs": every(min(60, max(5, TIERCEL_PROOF_SECONDS // 12)), "panel.tasks.sweep_proofs"),
    "notices": every(30, "panel.tasks.send_notices"),
    "alert-messages": every(10, "panel.tasks.send_alerts"),
    "webhooks": every(5, "panel.tasks.send_webhooks"),
    "sign-of-life": every(60, "panel.tasks.send_sign_of_life"),
    "messages": every(5, "panel.tasks.send_messages"),
    "usage": every(300, "panel.tasks.write_usage"),
    "prune-messages": every(3600, "panel.tasks.prune_messages"),
    "token-expiry": every(3600, "panel.tasks.warn_of_expiring_tokens"),
    "prune-sessions": every(86_400, "panel.tasks.prune_sessions"),
    "prune-previews": every(3600, "jobs.tasks.prune_previews"),
    "prune-host-history": every(86_400, "jobs.tasks.prune_host_history"),
} | {
    f"collect-{shard}": every(
        TIERCEL_SAMPLE_SECONDS, "jobs.tasks.collect_shard", shard, queue=f"collect.{shard}"
    )
    for shard in range(TIERCEL_COLLECT_SHARDS)
}
# Volumes that are watched closely; not needed where all are sampled that often.
CELERY_BEAT_SCHEDULE |= {
    f"watched-{shard}": every(10, "jobs.tasks.collect_watched", shard, queue=f"collect.{shard}")
    for shard in range(TIERCEL_COLLECT_SHARDS)
    if TIERCEL_SAMPLE_SECONDS > 10
}
CELERY_BEAT_SCHEDULE |= {
    f"disks-{shard}": every(300, "jobs.tasks.read_disks", shard, queue=f"collect.{shard}")
    for shard in range(TIERCEL_COLLECT_SHARDS)
}

# --- Logging ------------------------------------------------------------------------------------

# One line an entry on the console, without tokens.
# One line of JSON for each request, or none.
TIERCEL_ACCESS_LOG = env.choice("TIERCEL_ACCESS_LOG", "none", "json")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s%(request_id)s: %(message)s"}
    },
    "filters": {
        "tokens": {"()": "panel.configuration.log_redaction.TokenFilter"},
        "request": {"()": "storage.request_id.RequestIdFilter"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": "line",
            "filters": ["tokens", "request"],
        }
    },
    "root": {"handlers": ["console"], "level": env.text("TIERCEL_LOG_LEVEL", "INFO")},
    # Two lines for each message would drown what a task has to say.
    "loggers": {name: {"level": "WARNING"} for name in ("celery.beat", "celery.app.trace")},
}
