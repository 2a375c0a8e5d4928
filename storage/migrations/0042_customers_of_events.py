"""Events keep the names of their customer, whatever becomes of the customer."""

from django.db import migrations, models

WRITE = """
CREATE OR REPLACE FUNCTION event_write(
    kind text, audience bigint, volume text, host text, data jsonb, internal jsonb,
    job text DEFAULT '', ordered text DEFAULT '', alert text DEFAULT ''
) RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
-- A row of the list. Its subject is the volume, else the host, else the alert.
    INSERT INTO public.storage_event (
        key, kind, customer_id, customer_key, customer_external_id, subject, volume_key,
        host_key, job_key, order_key, alert_key, data, internal
    ) SELECT
        'evt_' || replace(gen_random_uuid()::text, '-', ''), kind, audience,
        coalesce(named.key, ''), coalesce(named.external_id, ''),
        CASE WHEN volume <> '' THEN 'volume:' || volume WHEN host <> '' THEN 'host:' || host
            ELSE 'alert:' || alert END,
        volume, host, job, ordered, alert, data, internal
    FROM (SELECT) AS one LEFT JOIN public.storage_customer AS named ON named.id = audience
$$;
"""
WROTE = """
CREATE OR REPLACE FUNCTION event_write(
    kind text, audience bigint, volume text, host text, data jsonb, internal jsonb,
    job text DEFAULT '', ordered text DEFAULT '', alert text DEFAULT ''
) RETURNS void LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
-- A row of the list. Its subject is the volume, else the host, else the alert.
    INSERT INTO public.storage_event (
        key, kind, customer_id, subject, volume_key, host_key, job_key, order_key, alert_key,
        data, internal
    ) VALUES (
        'evt_' || replace(gen_random_uuid()::text, '-', ''), kind, audience,
        CASE WHEN volume <> '' THEN 'volume:' || volume WHEN host <> '' THEN 'host:' || host
            ELSE 'alert:' || alert END,
        volume, host, job, ordered, alert, data, internal
    )
$$;
"""
FILL = """
UPDATE storage_event AS event SET customer_key = named.key,
    customer_external_id = named.external_id
FROM storage_customer AS named WHERE named.id = event.customer_id;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0041_events_outlive_customers'),
    ]

    operations = [
        migrations.AddField(
            model_name='event',
            name='customer_key',
            field=models.CharField(blank=True, db_default='', max_length=26),
        ),
        migrations.AddField(
            model_name='event',
            name='customer_external_id',
            field=models.CharField(blank=True, db_default='', max_length=64),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(WRITE, WROTE),
    ]
