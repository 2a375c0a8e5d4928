"""Row-level security on the tables of customers (`storage.row_security`).

The two functions run with their owner's rights, whom no policy binds: a policy on memberships that
asked the memberships would ask itself.
"""

from django.db import migrations

from storage.row_security import CUSTOMERS, VOLUMES, enclose

FUNCTIONS = """
CREATE FUNCTION wall_customers() RETURNS bigint[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
-- The customers of the person whom the session stands for; none for anything but a person.
    SELECT coalesce(array_agg(customer_id), '{}') FROM public.storage_member
    WHERE user_id = substring(current_setting('tiercel.wall', true) FROM '^[0-9]{1,18}$')::bigint
$$;
CREATE FUNCTION wall_volumes() RETURNS bigint[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
-- The volumes of those customers.
    SELECT coalesce(array_agg(id), '{}') FROM public.storage_volume
    WHERE customer_id = ANY ((SELECT public.wall_customers())::bigint[])
$$;
"""
GONE = "DROP FUNCTION wall_volumes(); DROP FUNCTION wall_customers();"
OWN = {
    "storage_customer": f"id = {CUSTOMERS}",
    "storage_member": f"customer_id = {CUSTOMERS}",
    "storage_volume": f"customer_id = {CUSTOMERS}",
    "storage_volumeevent": f"id = {VOLUMES}",
    "storage_placement": f"volume_id = {VOLUMES}",
    "storage_latestsample": f"volume_id = {VOLUMES}",
    # Asked by the parent, its policy counts; by themselves the app has no right to the partitions.
    "storage_sample": f"volume_id = {VOLUMES}",
}


class Migration(migrations.Migration):
    dependencies = [("storage", "0010_suspended_customers")]

    operations = [
        migrations.RunSQL(FUNCTIONS, GONE),
        *(migrations.RunSQL(*enclose(table, own)) for table, own in OWN.items()),
    ]
