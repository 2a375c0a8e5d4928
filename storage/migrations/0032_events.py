"""The list of events, which triggers write (`storage.models.event`): in the transaction of what
happened, whichever code did it.

The functions of triggers run with their owner's rights, whom no policy binds: whoever places an
order need not see the host that it is about.
"""

import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from storage.row_security import CUSTOMERS, enclose

PLACES = "CREATE SEQUENCE storage_event_places OWNED BY storage_event.position;"
WRITE = """
CREATE FUNCTION event_write(
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
CREATE FUNCTION event_host_of(volume bigint) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
-- The key of the host that the volume lies on now, '' for none.
    SELECT coalesce((
        SELECT host.key FROM public.storage_placement AS placement
        JOIN public.storage_host AS host ON host.id = placement.host_id
        WHERE placement.volume_id = volume AND placement.until IS NULL
    ), '')
$$;
"""
OF_VOLUMES = """
CREATE FUNCTION event_of_volume() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    host text := public.event_host_of(NEW.id);
    about jsonb := jsonb_build_object(
        'size_bytes', NEW.size_bytes, 'external_id', NEW.external_id, 'label', NEW.label
    );
    managed jsonb := jsonb_build_object('managed', NEW.managed);
    kinds text[] := '{}';
    kind text;
BEGIN
    IF NEW.previewed_at IS NOT NULL THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'INSERT' OR OLD.previewed_at IS NOT NULL THEN
        PERFORM public.event_write(
            'volume.added', NEW.customer_id, NEW.key, host, about, managed);
        RETURN NULL;
    END IF;
    IF OLD.customer_id IS DISTINCT FROM NEW.customer_id THEN
        IF OLD.customer_id IS NOT NULL THEN
            PERFORM public.event_write(
                'volume.withdrawn', OLD.customer_id, NEW.key, host, about, managed);
        END IF;
        IF NEW.customer_id IS NOT NULL THEN
            kinds := kinds || 'volume.assigned'::text;
        END IF;
    END IF;
    IF NEW.managed AND NOT OLD.managed THEN
        kinds := kinds || 'volume.managed'::text;
    END IF;
    IF (OLD.label, OLD.external_id) IS DISTINCT FROM (NEW.label, NEW.external_id) THEN
        kinds := kinds || 'volume.renamed'::text;
    END IF;
    IF OLD.size_bytes <> NEW.size_bytes THEN
        kinds := kinds || 'volume.resized'::text;
    END IF;
    IF OLD.retired_at IS NULL AND NEW.retired_at IS NOT NULL THEN
        kinds := kinds || 'volume.retired'::text;
    END IF;
    IF OLD.retired_at IS NOT NULL AND NEW.retired_at IS NULL THEN
        kinds := kinds || 'volume.restored'::text;
    END IF;
    IF OLD.destroyed_at IS NULL AND NEW.destroyed_at IS NOT NULL THEN
        kinds := kinds || 'volume.destroyed'::text;
    END IF;
    FOREACH kind IN ARRAY kinds LOOP
        PERFORM public.event_write(kind, NEW.customer_id, NEW.key, host, about, managed);
    END LOOP;
    RETURN NULL;
END $$;
CREATE TRIGGER event_added AFTER INSERT ON storage_volume
    FOR EACH ROW EXECUTE FUNCTION event_of_volume();
CREATE TRIGGER event_changed AFTER UPDATE ON storage_volume FOR EACH ROW WHEN (
    (OLD.customer_id, OLD.managed, OLD.label, OLD.external_id, OLD.size_bytes,
        OLD.retired_at, OLD.destroyed_at, OLD.previewed_at)
    IS DISTINCT FROM
    (NEW.customer_id, NEW.managed, NEW.label, NEW.external_id, NEW.size_bytes,
        NEW.retired_at, NEW.destroyed_at, NEW.previewed_at)
) EXECUTE FUNCTION event_of_volume();
"""
OF_PLACEMENTS = """
CREATE FUNCTION event_of_placement() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    volume record;
    host text;
    cache jsonb := jsonb_build_object('size_bytes', NEW.cache_bytes, 'mode', NEW.cache_mode);
    how jsonb := jsonb_build_object(
        'technology', NEW.cache_technology, 'trouble', NEW.cache_trouble
    );
BEGIN
    SELECT key, customer_id INTO volume FROM public.storage_volume WHERE id = NEW.volume_id;
    SELECT key INTO host FROM public.storage_host WHERE id = NEW.host_id;
    IF TG_OP = 'INSERT' THEN
        IF EXISTS (
            SELECT FROM public.storage_placement AS before
            WHERE before.volume_id = NEW.volume_id AND before.id <> NEW.id
        ) THEN
            PERFORM public.event_write('volume.moved', NULL, volume.key, host, '{}',
                jsonb_build_object('vg', NEW.vg_name));
        END IF;
        RETURN NULL;
    END IF;
    IF OLD.missing_since IS NULL AND NEW.missing_since IS NOT NULL THEN
        PERFORM public.event_write('volume.missing', NULL, volume.key, host, '{}', '{}');
    ELSIF OLD.missing_since IS NOT NULL AND NEW.missing_since IS NULL THEN
        PERFORM public.event_write('volume.returned', NULL, volume.key, host, '{}', '{}');
    END IF;
    IF OLD.cache_technology = '' AND NEW.cache_technology <> '' THEN
        PERFORM public.event_write(
            'cache.added', volume.customer_id, volume.key, host, cache, how);
    ELSIF OLD.cache_technology <> '' AND NEW.cache_technology = '' THEN
        PERFORM public.event_write(
            'cache.removed', volume.customer_id, volume.key, host, cache, how);
    ELSIF (OLD.cache_technology, OLD.cache_mode, OLD.cache_bytes)
        IS DISTINCT FROM (NEW.cache_technology, NEW.cache_mode, NEW.cache_bytes) THEN
        PERFORM public.event_write(
            'cache.changed', volume.customer_id, volume.key, host, cache, how);
    END IF;
    IF NEW.cache_trouble <> OLD.cache_trouble AND NEW.cache_trouble <> '' THEN
        PERFORM public.event_write('cache.troubled', NULL, volume.key, host, cache, how);
    ELSIF NEW.cache_trouble <> OLD.cache_trouble AND NEW.cache_technology <> '' THEN
        PERFORM public.event_write('cache.recovered', NULL, volume.key, host, cache, how);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER event_placed AFTER INSERT ON storage_placement
    FOR EACH ROW EXECUTE FUNCTION event_of_placement();
CREATE TRIGGER event_changed AFTER UPDATE ON storage_placement FOR EACH ROW WHEN (
    NEW.until IS NULL AND (
        OLD.cache_technology, OLD.cache_mode, OLD.cache_bytes, OLD.cache_trouble,
        OLD.missing_since IS NULL
    ) IS DISTINCT FROM (
        NEW.cache_technology, NEW.cache_mode, NEW.cache_bytes, NEW.cache_trouble,
        NEW.missing_since IS NULL
    )
) EXECUTE FUNCTION event_of_placement();
"""
OF_HOSTS = """
CREATE FUNCTION event_of_host() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    about jsonb := jsonb_build_object('name', NEW.name, 'state', NEW.state);
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM public.event_write('host.added', NULL, '', NEW.key, '{}', about);
        RETURN NULL;
    END IF;
    IF OLD.state <> NEW.state THEN
        PERFORM public.event_write('host.' || NEW.state, NULL, '', NEW.key, '{}', about);
    END IF;
    IF OLD.error = '{}' AND NEW.error <> '{}' THEN
        PERFORM public.event_write('host.unreachable', NULL, '', NEW.key, '{}',
            about || jsonb_build_object('error_code', coalesce(NEW.error ->> 'code', '')));
    ELSIF OLD.error <> '{}' AND NEW.error = '{}' AND NEW.state <> 'removed' THEN
        PERFORM public.event_write('host.reachable', NULL, '', NEW.key, '{}', about);
    END IF;
    IF NEW.maintenance_since IS NOT NULL AND (OLD.maintenance_since, OLD.maintenance_until)
        IS DISTINCT FROM (NEW.maintenance_since, NEW.maintenance_until) THEN
        PERFORM public.event_write('host.maintenance_began', NULL, '', NEW.key, '{}',
            about || jsonb_build_object('until',
                to_char(NEW.maintenance_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')));
    ELSIF OLD.maintenance_since IS NOT NULL AND NEW.maintenance_since IS NULL THEN
        PERFORM public.event_write('host.maintenance_ended', NULL, '', NEW.key, '{}', about);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER event_added AFTER INSERT ON storage_host
    FOR EACH ROW EXECUTE FUNCTION event_of_host();
CREATE TRIGGER event_changed AFTER UPDATE ON storage_host FOR EACH ROW WHEN (
    OLD.state <> NEW.state OR (OLD.error = '{}') <> (NEW.error = '{}')
    OR (OLD.maintenance_since, OLD.maintenance_until)
        IS DISTINCT FROM (NEW.maintenance_since, NEW.maintenance_until)
) EXECUTE FUNCTION event_of_host();
CREATE FUNCTION event_of_host_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    host record;
BEGIN
    SELECT key, name, state INTO host FROM public.storage_host WHERE id = NEW.host_id;
    PERFORM public.event_write('host.changed', NULL, '', host.key, '{}', jsonb_build_object(
        'name', host.name, 'state', host.state, 'change', NEW.kind, 'item', NEW.subject,
        'before', NEW.before, 'after', NEW.after));
    RETURN NULL;
END $$;
CREATE TRIGGER event_added AFTER INSERT ON storage_hostchange
    FOR EACH ROW EXECUTE FUNCTION event_of_host_change();
"""
GONE = """
DROP TRIGGER event_added ON storage_hostchange;
DROP FUNCTION event_of_host_change();
DROP TRIGGER event_added ON storage_host;
DROP TRIGGER event_changed ON storage_host;
DROP FUNCTION event_of_host();
DROP TRIGGER event_placed ON storage_placement;
DROP TRIGGER event_changed ON storage_placement;
DROP FUNCTION event_of_placement();
DROP TRIGGER event_added ON storage_volume;
DROP TRIGGER event_changed ON storage_volume;
DROP FUNCTION event_of_volume();
DROP FUNCTION event_host_of(bigint);
DROP FUNCTION event_write(text, bigint, text, text, jsonb, jsonb, text, text, text);
"""



class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0031_sample_chunks'),
    ]

    operations = [
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(editable=False, max_length=36, unique=True)),
                ('position', models.BigIntegerField(editable=False, null=True, unique=True)),
                ('kind', models.CharField(max_length=32)),
                ('version', models.PositiveSmallIntegerField(db_default=1, default=1)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('subject', models.CharField(max_length=40)),
                ('volume_key', models.CharField(blank=True, max_length=26)),
                ('host_key', models.CharField(blank=True, max_length=26)),
                ('job_key', models.CharField(blank=True, max_length=26)),
                ('order_key', models.CharField(blank=True, max_length=26)),
                ('alert_key', models.CharField(blank=True, max_length=26)),
                ('data', models.JSONField(default=dict)),
                ('internal', models.JSONField(default=dict)),
                ('customer', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='storage.customer')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('position', None)), fields=['id'], name='event_without_place'), models.Index(fields=['customer', 'position'], name='event_of_customer'), django.contrib.postgres.indexes.BrinIndex(fields=['at'], name='event_at')],
            },
        ),
        migrations.RunSQL(*enclose("storage_event", f"customer_id = {CUSTOMERS}")),
        migrations.RunSQL(PLACES, "DROP SEQUENCE storage_event_places;"),
        migrations.RunSQL(WRITE + OF_VOLUMES + OF_PLACEMENTS + OF_HOSTS, GONE),
    ]
