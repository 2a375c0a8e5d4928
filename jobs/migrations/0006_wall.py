"""Row-level security on jobs and what they wrote (`storage.row_security`)."""

from django.db import migrations

from storage.row_security import STAFF_ONLY, VOLUMES, enclose

OF_JOB = "EXISTS (SELECT FROM jobs_job WHERE jobs_job.id = job_id)"
"""Within a policy the policies of other tables count."""
OWN = {
    "jobs_job": f"volume_id = {VOLUMES}",
    "jobs_step": OF_JOB,
    "jobs_line": OF_JOB,
    # It names hosts, and nobody but workers writes it.
    "jobs_auditentry": STAFF_ONLY,
}


class Migration(migrations.Migration):
    dependencies = [("jobs", "0005_awaits"), ("storage", "0011_wall")]

    operations = [migrations.RunSQL(*enclose(table, own)) for table, own in OWN.items()]
