-- Row security (`storage.row_security`): a scope other than "all" reads and writes only the rows
-- for which the condition is true. The owner of a table is not bound.

DO $$
DECLARE
    -- Sub-selects are evaluated once a statement, not once a row; for "all" the second one never
    -- is. PostgreSQL takes "equal" for rare and "not equal" for usual, and plans accordingly: for
    -- staff and workers, who ask the large questions, every row is seen.
    is_all text := $sql$(SELECT CASE current_setting('tiercel.wall', true)
        WHEN 'all' THEN 1 ELSE 0 END) <> 0$sql$;
    wall record;
BEGIN
    FOR wall IN SELECT * FROM (VALUES
        ('panel_order', 'customer_id = ANY ((SELECT wall_customers())::bigint[])'),
        ('panel_mandate', 'customer_id = ANY ((SELECT wall_customers())::bigint[])'),
        ('panel_mandateevent', 'customer_id = ANY ((SELECT wall_customers())::bigint[])'),
        ('panel_invitation', 'customer_id = ANY ((SELECT wall_customers())::bigint[])'),
        ('panel_usageline', 'customer_id = ANY ((SELECT wall_customers())::bigint[])'),
        -- Within a policy the policies of other tables count.
        ('panel_message', 'EXISTS (SELECT FROM panel_order WHERE panel_order.id = order_id)'),
        ('panel_notice', 'EXISTS (SELECT FROM panel_order WHERE panel_order.id = order_id)'),
        ('panel_proof', 'EXISTS (SELECT FROM panel_order WHERE panel_order.id = order_id)'),
        ('panel_soldoutview', 'volume_id = ANY ((SELECT wall_volumes())::bigint[])'),
        ('panel_savedview', 'user_id::text = current_setting(''tiercel.wall'', true)'),
        -- For staff alone.
        ('panel_billingcall', 'false'),
        ('panel_alertdelivery', 'false'),
        ('panel_alertroute', 'false'),
        ('panel_alertroute_hosts', 'false'),
        ('panel_securityentry', 'false'),
        ('panel_alertdelivery_events', 'false'),
        ('panel_webhook', 'false'),
        ('panel_webhookdelivery', 'false')
    ) AS walls (place, own) LOOP
        -- An earlier migration runs this file too, before the table is made.
        CONTINUE WHEN to_regclass(format('public.%I', wall.place)) IS NULL;
        EXECUTE format('DROP POLICY IF EXISTS wall ON %I', wall.place);
        EXECUTE format('CREATE POLICY wall ON %I USING (%s OR (%s)) WITH CHECK (%2$s OR (%3$s))',
            wall.place, is_all, wall.own);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', wall.place);
    END LOOP;
END $$;
