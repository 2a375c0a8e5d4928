-- The functions that make and drop partitions of samples. The app's role owns no table, so it cannot
-- do either by itself: the functions run with their owner's rights and do nothing else. A partition
-- is made apart and then attached, because that lets others read and write meanwhile.
--
-- Partitions of rows are dropped a week after their day once they are empty: what they had lies in
-- chunks by then. A row that comes in the same moment keeps its partition. Partitions of chunks are
-- dropped by their whole name: the digits at the end of any other table's could be read as a date.

CREATE OR REPLACE FUNCTION storage_sample_make(day date) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
-- Makes the partition of one UTC day; false when it was there.
DECLARE
    name text := format('storage_sample_%s', to_char(day, 'YYYYMMDD'));
BEGIN
    IF to_regclass('public.' || name) IS NOT NULL THEN
        RETURN false;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('storage_sample'));
    IF to_regclass('public.' || name) IS NOT NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE public.%I (LIKE public.storage_sample INCLUDING ALL)', name);
    -- Rights on the parent are enough; rights on a partition would pass by its row policies.
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        EXECUTE format('REVOKE ALL ON public.%I FROM tiercel_app', name);
    END IF;
    EXECUTE format(
        'ALTER TABLE public.storage_sample ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
        name, to_char(day, 'YYYY-MM-DD') || ' 00:00:00+00',
        to_char(day + 1, 'YYYY-MM-DD') || ' 00:00:00+00'
    );
    RETURN true;
END $$;

CREATE OR REPLACE FUNCTION storage_devicesample_make(day date) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
-- Makes the partition of one UTC day; false when it was there.
DECLARE
    name text := format('storage_devicesample_%s', to_char(day, 'YYYYMMDD'));
BEGIN
    IF to_regclass('public.' || name) IS NOT NULL THEN
        RETURN false;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('storage_devicesample'));
    IF to_regclass('public.' || name) IS NOT NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE public.%I (LIKE public.storage_devicesample INCLUDING ALL)', name);
    -- Rights on the parent are enough; rights on a partition would pass by its row policies.
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        EXECUTE format('REVOKE ALL ON public.%I FROM tiercel_app', name);
    END IF;
    EXECUTE format(
        'ALTER TABLE public.storage_devicesample ATTACH PARTITION public.%I'
        ' FOR VALUES FROM (%L) TO (%L)',
        name, to_char(day, 'YYYY-MM-DD') || ' 00:00:00+00',
        to_char(day + 1, 'YYYY-MM-DD') || ' 00:00:00+00'
    );
    RETURN true;
END $$;

CREATE OR REPLACE FUNCTION storage_sample_drop(before date) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '2s' AS $$
-- Drops the partitions of days before the given one, and empty ones, but never of the last week,
-- whatever the caller asks. Returns how many. Gives way after 2 s of waiting: the next call tries
-- again.
DECLARE
    part record;
    is_empty boolean;
    dropped integer := 0;
BEGIN
    FOR part IN
        SELECT relname AS name, to_date(right(relname, 8), 'YYYYMMDD') AS day
        FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = 'public.storage_sample'::regclass
          AND relname ~ '^storage_sample_[0-9]{8}$'
          AND to_date(right(relname, 8), 'YYYYMMDD') < (now() AT TIME ZONE 'UTC')::date - 7
        ORDER BY relname
    LOOP
        IF part.day >= before THEN
            -- One that was emptied just now waits for VACUUM: it would be read whole under a lock.
            CONTINUE WHEN pg_relation_size(format('public.%I', part.name)::regclass) > 1048576;
            EXECUTE format('SELECT NOT EXISTS (SELECT FROM public.%I)', part.name) INTO is_empty;
            CONTINUE WHEN NOT is_empty;
            -- In the order of those who insert, who may have put a row there that is not seen yet.
            LOCK TABLE ONLY public.storage_sample IN ACCESS EXCLUSIVE MODE;
            EXECUTE format('LOCK TABLE public.%I IN ACCESS EXCLUSIVE MODE', part.name);
            EXECUTE format('SELECT NOT EXISTS (SELECT FROM public.%I)', part.name) INTO is_empty;
            CONTINUE WHEN NOT is_empty;
        END IF;
        EXECUTE format('DROP TABLE public.%I', part.name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
EXCEPTION WHEN lock_not_available THEN
    RETURN 0;
END $$;

CREATE OR REPLACE FUNCTION storage_devicesample_drop(before date) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '2s' AS $$
-- Drops the partitions of days before the given one, and empty ones, but never of the last week,
-- whatever the caller asks. Returns how many. Gives way after 2 s of waiting: the next call tries
-- again.
DECLARE
    part record;
    is_empty boolean;
    dropped integer := 0;
BEGIN
    FOR part IN
        SELECT relname AS name, to_date(right(relname, 8), 'YYYYMMDD') AS day
        FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = 'public.storage_devicesample'::regclass
          AND relname ~ '^storage_devicesample_[0-9]{8}$'
          AND to_date(right(relname, 8), 'YYYYMMDD') < (now() AT TIME ZONE 'UTC')::date - 7
        ORDER BY relname
    LOOP
        IF part.day >= before THEN
            -- One that was emptied just now waits for VACUUM: it would be read whole under a lock.
            CONTINUE WHEN pg_relation_size(format('public.%I', part.name)::regclass) > 1048576;
            EXECUTE format('SELECT NOT EXISTS (SELECT FROM public.%I)', part.name) INTO is_empty;
            CONTINUE WHEN NOT is_empty;
            -- In the order of those who insert, who may have put a row there that is not seen yet.
            LOCK TABLE ONLY public.storage_devicesample IN ACCESS EXCLUSIVE MODE;
            EXECUTE format('LOCK TABLE public.%I IN ACCESS EXCLUSIVE MODE', part.name);
            EXECUTE format('SELECT NOT EXISTS (SELECT FROM public.%I)', part.name) INTO is_empty;
            CONTINUE WHEN NOT is_empty;
        END IF;
        EXECUTE format('DROP TABLE public.%I', part.name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
EXCEPTION WHEN lock_not_available THEN
    RETURN 0;
END $$;

REVOKE ALL ON FUNCTION storage_sample_make(date), storage_sample_drop(date) FROM PUBLIC;
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        GRANT EXECUTE ON FUNCTION storage_sample_make(date), storage_sample_drop(date)
            TO tiercel_app;
    END IF;
END $$;

REVOKE ALL ON FUNCTION storage_devicesample_make(date), storage_devicesample_drop(date) FROM PUBLIC;
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        GRANT EXECUTE ON FUNCTION storage_devicesample_make(date), storage_devicesample_drop(date)
            TO tiercel_app;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION storage_samplechunk_partition(resolution integer, day date,
    OUT parent text, OUT name text, OUT first date, OUT until date)
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
-- The partition in which chunks of that day are: of a day as measured, of a month of 5 minutes, of
-- a year of hours.
    SELECT 'storage_samplechunk_' || suffix,
        'storage_samplechunk_' || suffix || '_' || to_char(date_trunc(unit, day::timestamp), format),
        date_trunc(unit, day::timestamp)::date,
        (date_trunc(unit, day::timestamp) + ('1 ' || unit)::interval)::date
    FROM (VALUES (0, 'raw', 'day', 'YYYYMMDD'), (1, '5m', 'month', 'YYYYMM'),
        (2, '1h', 'year', 'YYYY')) AS length (n, suffix, unit, format)
    WHERE n = resolution
$$;

CREATE OR REPLACE FUNCTION storage_samplechunk_make(resolution integer, day date) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
-- Makes the partition of that UTC day; false when it was there, or all are in one.
DECLARE
    part record;
BEGIN
    SELECT * INTO part FROM public.storage_samplechunk_partition(resolution, day);
    IF part.name IS NULL OR to_regclass('public.' || part.name) IS NOT NULL THEN
        RETURN false;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('storage_samplechunk'));
    IF to_regclass('public.' || part.name) IS NOT NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING ALL)', part.name, part.parent);
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        EXECUTE format('REVOKE ALL ON public.%I FROM tiercel_app', part.name);
    END IF;
    EXECUTE format(
        'ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
        part.parent, part.name, to_char(part.first, 'YYYY-MM-DD') || ' 00:00:00+00',
        to_char(part.until, 'YYYY-MM-DD') || ' 00:00:00+00'
    );
    RETURN true;
END $$;

CREATE OR REPLACE FUNCTION storage_samplechunk_drop(resolution integer, before date)
RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '2s' AS $$
-- Drops the partitions that end with the given day or before it, but never one of the last week,
-- whatever the caller asks. Returns how many. Gives way after 2 s of waiting: the next call tries
-- again.
DECLARE
    part record;
    dropped integer := 0;
BEGIN
    before := least(before, (now() AT TIME ZONE 'UTC')::date - 7);
    FOR part IN
        SELECT each.name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid,
            public.storage_samplechunk_partition(resolution, to_date(
                CASE WHEN relname ~ '^storage_samplechunk_(raw_[0-9]{8}|5m_[0-9]{6}|1h_[0-9]{4})$'
                THEN rpad(substring(relname FROM '[0-9]+$'), 8, '0101') END, 'YYYYMMDD')) AS each
        WHERE inhparent = ('public.' || each.parent)::regclass
            AND relname = each.name AND each.until <= before
        ORDER BY relname
    LOOP
        EXECUTE format('DROP TABLE public.%I', part.name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
EXCEPTION WHEN lock_not_available THEN
    RETURN 0;
END $$;

REVOKE ALL ON FUNCTION storage_samplechunk_partition(integer, date),
    storage_samplechunk_make(integer, date), storage_samplechunk_drop(integer, date) FROM PUBLIC;
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        GRANT EXECUTE ON FUNCTION storage_samplechunk_make(integer, date),
            storage_samplechunk_drop(integer, date) TO tiercel_app;
    END IF;
END $$;

-- The partitions of today and tomorrow; `ensure_partitions` makes those of later days.
SELECT storage_sample_make(day), storage_devicesample_make(day)
FROM (VALUES ((now() AT TIME ZONE 'UTC')::date), ((now() AT TIME ZONE 'UTC')::date + 1)) AS days (day);
