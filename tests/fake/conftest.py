from tests.fake.fixtures import client_key as client_key
from tests.fake.fixtures import enrolled_fake_host as enrolled_fake_host
from tests.fake.fixtures import fake_host as fake_host
from tests.fake.fixtures import fake_server as fake_server
from tests.fake.fixtures import make_fake_host as make_fake_host
