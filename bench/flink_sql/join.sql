-- Departures with their arrivals within 18 hours: Flink's interval join of two streams.
create table departures (
    event_id string, event_type string, event_time timestamp_ltz(3),
    scheduled_time timestamp_ltz(3), carrier string, flight int, tail_number string, origin string,
    destination string, delay_minutes int, cancelled boolean, distance_miles int,
    event_at as coalesce(event_time, to_timestamp_ltz(0, 3)), arrived as proctime(),
    watermark for event_at as event_at - interval '2' hour
) with (
    'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{brokers}',
    'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset',
    'format' = 'json', 'json.ignore-parse-errors' = 'true',
    'json.timestamp-format.standard' = 'ISO-8601'
);
create table arrivals (
    event_id string, event_type string, event_time timestamp_ltz(3),
    scheduled_time timestamp_ltz(3), carrier string, flight int, tail_number string, origin string,
    destination string, delay_minutes int, cancelled boolean, distance_miles int,
    event_at as coalesce(event_time, to_timestamp_ltz(0, 3)), arrived as proctime(),
    watermark for event_at as event_at - interval '2' hour
) with (
    'connector' = 'kafka', 'topic' = '{beside}', 'properties.bootstrap.servers' = '{brokers}',
    'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset',
    'format' = 'json', 'json.ignore-parse-errors' = 'true',
    'json.timestamp-format.standard' = 'ISO-8601'
);
create table flown (
    event_id string, event_type string, event_time timestamp(3), scheduled_time timestamp(3),
    carrier string, flight int, tail_number string, origin string, destination string,
    delay_minutes int, cancelled boolean, distance_miles int,
    arrival_event_type string, arrival_event_time timestamp(3),
    arrival_scheduled_time timestamp(3), arrival_carrier string, arrival_flight int,
    arrival_tail_number string, arrival_origin string, arrival_destination string,
    arrival_delay_minutes int, arrival_cancelled boolean, arrival_distance_miles int
) with ('connector' = 'filesystem', 'path' = 'file://{checkpoint}', 'format' = 'json');
insert into flown
with left_once as (
    select * from (
        select *, row_number() over (partition by event_id order by arrived) as place
        from departures where event_id is not null and event_time is not null
    ) where place = 1
), right_once as (
    select * from (
        select *, row_number() over (partition by event_id order by arrived) as place
        from arrivals where event_id is not null and event_time is not null
    ) where place = 1
)
select d.event_id, d.event_type, cast(d.event_at as timestamp(3)),
    cast(d.scheduled_time as timestamp(3)), d.carrier, d.flight, d.tail_number, d.origin,
    d.destination, d.delay_minutes, d.cancelled, d.distance_miles,
    a.event_type, cast(a.event_at as timestamp(3)), cast(a.scheduled_time as timestamp(3)),
    a.carrier, a.flight, a.tail_number, a.origin, a.destination, a.delay_minutes, a.cancelled,
    a.distance_miles
from left_once d left join right_once a on a.event_id = d.event_id
    and a.event_at between d.event_at and d.event_at + interval '18' hour
