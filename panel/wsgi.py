"""The WSGI entry that gunicorn serves."""

import gc
import os

from django.core.wsgi import get_wsgi_application

from panel.http.chunked_bodies import with_lengths

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "panel.settings")

application = with_lengths(get_wsgi_application())

# A page makes tens of thousands of small objects, and hardly a cycle among them: Python would look
# for some six times a page, and now and then through all the code that is loaded (0.1 s).
gc.collect()
gc.freeze()
gc.set_threshold(10_000, 10, 10)
