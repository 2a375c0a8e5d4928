-- The list of events (`storage.models.event`), which triggers write: in the transaction of what
-- happened, whichever code did it. Events keep the names of their customer, whatever becomes of the
-- customer. The functions of triggers run with their owner's rights, whom no policy binds: a
-- customer who places an order need not see the host that it is about.

CREATE SEQUENCE IF NOT EXISTS storage_event_places OWNED BY storage_event.position;

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

CREATE OR REPLACE FUNCTION event_host_of(volume bigint) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
-- The key of the host that the volume lies on now, '' for none.
    SELECT coalesce((
        SELECT host.key FROM public.storage_placement AS placement
        JOIN public.storage_host AS host ON host.id = placement.host_id
        WHERE placement.volume_id = volume AND placement.until IS NULL
    ), '')
$$;

CREATE OR REPLACE FUNCTION event_of_volume() RETURNS trigger
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
CREATE OR REPLACE TRIGGER event_added AFTER INSERT ON storage_volume
    FOR EACH ROW EXECUTE FUNCTION event_of_volume();
CREATE OR REPLACE TRIGGER event_changed AFTER UPDATE ON storage_volume FOR EACH ROW WHEN (
    (OLD.customer_id, OLD.managed, OLD.label, OLD.external_id, OLD.size_bytes,
        OLD.retired_at, OLD.destroyed_at, OLD.previewed_at)
    IS DISTINCT FROM
    (NEW.customer_id, NEW.managed, NEW.label, NEW.external_id, NEW.size_bytes,
        NEW.retired_at, NEW.destroyed_at, NEW.previewed_at)
) EXECUTE FUNCTION event_of_volume();

CREATE OR REPLACE FUNCTION event_of_placement() RETURNS trigger
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
CREATE OR REPLACE TRIGGER event_placed AFTER INSERT ON storage_placement
    FOR EACH ROW EXECUTE FUNCTION event_of_placement();
CREATE OR REPLACE TRIGGER event_changed AFTER UPDATE ON storage_placement FOR EACH ROW WHEN (
    NEW.until IS NULL AND (
        OLD.cache_technology, OLD.cache_mode, OLD.cache_bytes, OLD.cache_trouble,
        OLD.missing_since IS NULL
    ) IS DISTINCT FROM (
        NEW.cache_technology, NEW.cache_mode, NEW.cache_bytes, NEW.cache_trouble,
        NEW.missing_since IS NULL
    )
) EXECUTE FUNCTION event_of_placement();

CREATE OR REPLACE FUNCTION event_of_host() RETURNS trigger
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
CREATE OR REPLACE TRIGGER event_added AFTER INSERT ON storage_host
    FOR EACH ROW EXECUTE FUNCTION event_of_host();
CREATE OR REPLACE TRIGGER event_changed AFTER UPDATE ON storage_host FOR EACH ROW WHEN (
    OLD.state <> NEW.state OR (OLD.error = '{}') <> (NEW.error = '{}')
    OR (OLD.maintenance_since, OLD.maintenance_until)
        IS DISTINCT FROM (NEW.maintenance_since, NEW.maintenance_until)
) EXECUTE FUNCTION event_of_host();
CREATE OR REPLACE FUNCTION event_of_host_change() RETURNS trigger
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
CREATE OR REPLACE TRIGGER event_added AFTER INSERT ON storage_hostchange
    FOR EACH ROW EXECUTE FUNCTION event_of_host_change();
