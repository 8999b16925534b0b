-- Departure delays with the seats of the aircraft as of the flight's time: Flink's temporal join
-- with a versioned table. A row's validity ends where the next one of its key begins; the first
-- ones begin in 1970.
create table flights (
    event_id string, event_type string, event_time timestamp_ltz(3), carrier string,
    tail_number string, origin string, delay_minutes int, cancelled boolean,
    event_at as coalesce(event_time, to_timestamp_ltz(0, 3)), arrived as proctime(),
    watermark for event_at as event_at - interval '2' hour
) with (
    'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{brokers}',
    'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset',
    'format' = 'json', 'json.ignore-parse-errors' = 'true',
    'json.timestamp-format.standard' = 'ISO-8601'
);
create table aircraft (
    tail_number string, valid_from timestamp_ltz(3), seats int, maker string,
    primary key (tail_number) not enforced,
    watermark for valid_from as valid_from - interval '1' second
) with (
    'connector' = 'filesystem', 'path' = 'file://{beside}', 'format' = 'json',
    'json.timestamp-format.standard' = 'ISO-8601'
);
create table delays (
    window_start timestamp(3), window_end timestamp(3), carrier string, origin string,
    flights bigint, minutes bigint, delays bigint, max_delay_minutes int, cancellations bigint,
    seats bigint
) with ('connector' = 'filesystem', 'path' = 'file://{checkpoint}', 'format' = 'json');
insert into delays
with departures as (
    select event_id, event_at, carrier, tail_number, origin, delay_minutes, cancelled from (
        select *, row_number() over (partition by event_id order by arrived) as place
        from flights
        where event_id is not null and event_time is not null and event_type = 'departure'
    ) where place = 1
), with_seats as (
    select d.*, a.seats from departures d
    left join aircraft for system_time as of d.event_at as a on a.tail_number = d.tail_number
)
select window_start, window_end, carrier, origin, count(*), cast(sum(delay_minutes) as bigint),
    count(delay_minutes), max(delay_minutes), count(*) filter (where cancelled),
    cast(sum(seats) as bigint)
from table(tumble(table with_seats, descriptor(event_at), interval '1' hour))
group by window_start, window_end, carrier, origin
