-- Events of orders (`storage.models.event`), written by triggers.

CREATE OR REPLACE FUNCTION event_of_order(ordered bigint, kind text, more jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    this record;
BEGIN
    SELECT placed.key, placed.customer_id, placed.volume_id, placed.state, placed.intent,
        placed.reason_code, volume.key AS volume, volume.external_id
        INTO this FROM public.panel_order AS placed
        JOIN public.storage_volume AS volume ON volume.id = placed.volume_id
        WHERE placed.id = ordered;
    PERFORM public.event_write(kind, this.customer_id, this.volume,
        public.event_host_of(this.volume_id), jsonb_build_object(
            'state', this.state, 'intent', this.intent, 'reason_code', this.reason_code,
            'external_id', this.external_id) || more,
        '{}', ordered => this.key);
END $$;
CREATE OR REPLACE FUNCTION event_of_order_state() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM public.event_of_order(NEW.id,
        CASE TG_OP WHEN 'INSERT' THEN 'order.placed' ELSE 'order.' || NEW.state END, '{}');
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER event_added AFTER INSERT ON panel_order
    FOR EACH ROW EXECUTE FUNCTION event_of_order_state();
CREATE OR REPLACE TRIGGER event_changed AFTER UPDATE OF state ON panel_order
    FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION event_of_order_state();
CREATE OR REPLACE FUNCTION event_of_proof() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM public.event_of_order(NEW.order_id, 'order.proof',
        jsonb_build_object('proof', NEW.state, 'verdict', NEW.verdict));
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER event_changed AFTER UPDATE OF state ON panel_proof
    FOR EACH ROW WHEN (OLD.state <> NEW.state AND NEW.state IN ('ready', 'impossible'))
    EXECUTE FUNCTION event_of_proof();
