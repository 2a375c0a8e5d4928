-- Samples of volumes and of devices in daily partitions; chunks of packed samples in partitions by
-- resolution and time.

CREATE TABLE storage_sample (
    ts timestamptz NOT NULL,
    volume_id bigint NOT NULL,
    dt_ms integer,
    reads integer,
    writes integer,
    read_sectors bigint,
    write_sectors bigint,
    read_ms integer,
    write_ms integer,
    busy_ms integer,
    weighted_ms integer,
    read_hits bigint,
    read_misses bigint,
    write_hits bigint,
    write_misses bigint,
    demotions bigint,
    promotions bigint,
    slow_read_sectors bigint,
    slow_write_sectors bigint,
    fast_read_sectors bigint,
    fast_write_sectors bigint,
    latency_counts bigint[],
    technology smallint NOT NULL,
    cache_size_bytes bigint,
    used_bytes bigint,
    dirty_bytes bigint,
    discards integer,
    discard_ms integer,
    flushes integer,
    flush_ms integer,
    suspended_ms integer,
    slow_reads integer,
    slow_writes integer,
    slow_read_ms integer,
    slow_write_ms integer,
    slow_busy_ms integer,
    slow_weighted_ms integer,
    fast_busy_ms integer,
    discard_sectors bigint,
    read_us bigint,
    write_us bigint,
    fast_reads bigint,
    fast_writes bigint,
    fast_read_ms bigint,
    fast_write_ms bigint,
    fast_weighted_ms bigint,
    counted_hits bigint,
    counted_misses bigint,
    bypass_hits bigint,
    bypass_misses bigint,
    metadata_used_bytes bigint,
    metadata_total_bytes bigint,
    slow_latency_counts bigint[],
    fast_latency_counts bigint[],
    PRIMARY KEY (volume_id, ts),
    CONSTRAINT sample_has_figures CHECK (
        dt_ms > 0 AND dt_ms IS NOT NULL AND reads IS NOT NULL AND writes IS NOT NULL
        AND read_sectors IS NOT NULL AND write_sectors IS NOT NULL
        AND read_ms IS NOT NULL AND write_ms IS NOT NULL
    )
) PARTITION BY RANGE (ts);
CREATE INDEX sample_ts ON storage_sample
    USING brin (ts) WITH (pages_per_range = 16, autosummarize = on);

CREATE TABLE storage_devicesample (
    ts timestamptz NOT NULL,
    device_id bigint NOT NULL,
    dt_ms integer,
    reads integer,
    reads_merged bigint,
    read_sectors bigint,
    read_ms integer,
    writes integer,
    writes_merged bigint,
    write_sectors bigint,
    write_ms integer,
    in_flight bigint,
    busy_ms integer,
    weighted_ms integer,
    discards bigint,
    discards_merged bigint,
    discard_sectors bigint,
    discard_ms integer,
    flushes bigint,
    flush_ms integer,
    PRIMARY KEY (device_id, ts),
    CONSTRAINT device_sample_has_figures CHECK (
        dt_ms > 0 AND dt_ms IS NOT NULL AND reads IS NOT NULL AND writes IS NOT NULL
        AND read_sectors IS NOT NULL AND write_sectors IS NOT NULL
        AND read_ms IS NOT NULL AND write_ms IS NOT NULL
        AND busy_ms IS NOT NULL AND weighted_ms IS NOT NULL
    )
) PARTITION BY RANGE (ts);
CREATE INDEX device_sample_ts ON storage_devicesample
    USING brin (ts) WITH (pages_per_range = 16, autosummarize = on);

CREATE TABLE storage_samplechunk (
    kind smallint NOT NULL,
    subject_id bigint NOT NULL,
    start timestamptz NOT NULL,
    resolution smallint NOT NULL,
    format smallint NOT NULL,
    rows integer NOT NULL,
    is_rolled_up boolean NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (kind, subject_id, start, resolution)
) PARTITION BY LIST (resolution);
-- It is packed already.
ALTER TABLE storage_samplechunk ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX chunk_to_roll_up ON storage_samplechunk (kind, subject_id, start)
    WHERE NOT is_rolled_up;
CREATE TABLE storage_samplechunk_raw PARTITION OF storage_samplechunk
    FOR VALUES IN (0) PARTITION BY RANGE (start);
CREATE TABLE storage_samplechunk_5m PARTITION OF storage_samplechunk
    FOR VALUES IN (1) PARTITION BY RANGE (start);
CREATE TABLE storage_samplechunk_1h PARTITION OF storage_samplechunk
    FOR VALUES IN (2) PARTITION BY RANGE (start);
CREATE TABLE storage_samplechunk_1d PARTITION OF storage_samplechunk FOR VALUES IN (3);
DO $$ BEGIN
    -- Rights on the parent are enough; rights on a partition would pass by its row policies.
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        REVOKE ALL ON storage_samplechunk_raw, storage_samplechunk_5m, storage_samplechunk_1h,
            storage_samplechunk_1d FROM tiercel_app;
    END IF;
END $$;
