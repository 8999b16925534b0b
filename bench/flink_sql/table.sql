-- Departure delays of another pipeline's rows. Delta has no source for Flink 2: so five of their
-- columns come as lines of one file, by event time, which one reader reads.
create table departures (
    event_time timestamp_ltz(3), carrier string, origin string, delay_minutes int,
    cancelled boolean, watermark for event_time as event_time - interval '2' hour
) with (
    'connector' = 'filesystem', 'path' = 'file://{beside}', 'format' = 'json',
    'json.timestamp-format.standard' = 'ISO-8601'
);
create table delays (
    window_start timestamp(3), window_end timestamp(3), carrier string, origin string,
    flights bigint, minutes bigint, delays bigint, max_delay_minutes int, cancellations bigint
) with ('connector' = 'filesystem', 'path' = 'file://{checkpoint}', 'format' = 'json');
insert into delays
select window_start, window_end, carrier, origin, count(*), cast(sum(delay_minutes) as bigint),
    count(delay_minutes), max(delay_minutes), count(*) filter (where cancelled)
from table(tumble(table departures, descriptor(event_time), interval '1' hour))
group by window_start, window_end, carrier, origin
