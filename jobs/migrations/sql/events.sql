-- Events of jobs and alerts (`storage.models.event`), written by triggers. A customer learns of the
-- jobs that their change of plan leads to, as `JobQuerySet.visible_to` shows no others.

CREATE OR REPLACE FUNCTION event_of_job() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    kind text := 'job.' || NEW.state;
    volume record;
    host text;
    audience bigint;
    about jsonb := jsonb_build_object('kind', NEW.kind, 'state', NEW.state);
BEGIN
    SELECT key, customer_id INTO volume FROM public.storage_volume WHERE id = NEW.volume_id;
    SELECT key INTO host FROM public.storage_host WHERE id = NEW.host_id;
    IF NEW.origin = 'portal' OR NEW.price_minor IS NOT NULL THEN
        audience := volume.customer_id;
    END IF;
    IF NEW.state IN ('failed', 'needs_attention') THEN
        about := about || jsonb_build_object('error_code', coalesce(NEW.error ->> 'code', ''));
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF NEW.state = 'running' AND OLD.state = 'queued' THEN
            kind := 'job.started';
        ELSIF NEW.state IN ('running', 'waiting') THEN
            RETURN NULL;
        ELSIF NEW.state = 'queued' THEN
            kind := 'job.resumed';
        END IF;
    ELSIF NEW.state IN ('running', 'waiting') THEN
        kind := 'job.started';
    END IF;
    PERFORM public.event_write(kind, audience, coalesce(volume.key, ''), host, about, '{}',
        job => NEW.key);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER event_added AFTER INSERT ON jobs_job
    FOR EACH ROW WHEN (NOT NEW.dry_run) EXECUTE FUNCTION event_of_job();
CREATE OR REPLACE TRIGGER event_changed AFTER UPDATE OF state ON jobs_job
    FOR EACH ROW WHEN (NOT NEW.dry_run AND OLD.state <> NEW.state) EXECUTE FUNCTION event_of_job();

CREATE OR REPLACE FUNCTION event_of_alert() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    alert record;
    volume text;
    host text;
BEGIN
    SELECT key, code, severity, volume_id, host_id INTO alert
        FROM public.jobs_alert WHERE id = NEW.alert_id;
    SELECT key INTO volume FROM public.storage_volume WHERE id = alert.volume_id;
    SELECT key INTO host FROM public.storage_host WHERE id = alert.host_id;
    PERFORM public.event_write('alert.' || NEW.kind, NULL, coalesce(volume, ''),
        coalesce(host, ''), '{}', jsonb_build_object(
            'code', alert.code, 'severity', alert.severity, 'data_at_risk', NEW.rank = 0,
            'is_told', NEW.is_notified, 'tier', NEW.tier),
        alert => alert.key);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER event_added AFTER INSERT ON jobs_alertevent
    FOR EACH ROW EXECUTE FUNCTION event_of_alert();
