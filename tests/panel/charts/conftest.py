from tests.jobs.fixtures import agent as agent
from tests.jobs.fixtures import job as job
from tests.jobs.fixtures import quick as quick
from tests.jobs.fixtures import sshd as sshd
