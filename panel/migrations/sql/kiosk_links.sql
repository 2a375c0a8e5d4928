-- Row security of links to screens: for staff, and for the door that they are (`row_security.sql`
-- says how). The secret in the address is what lets a screen in.

DROP POLICY IF EXISTS wall ON panel_kiosklink;
CREATE POLICY wall ON panel_kiosklink
    USING ((SELECT CASE current_setting('tiercel.wall', true) WHEN 'all' THEN 1 ELSE 0 END) <> 0)
    WITH CHECK ((SELECT CASE current_setting('tiercel.wall', true) WHEN 'all' THEN 1 ELSE 0 END) <> 0);
ALTER TABLE panel_kiosklink ENABLE ROW LEVEL SECURITY;
