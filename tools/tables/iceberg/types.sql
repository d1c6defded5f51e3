-- All types, with nulls at each level, and partitions of several types.

create table h.types (id bigint not null, b boolean, i int, f float, d double, small decimal(9, 2), large decimal(38, 10), day date,
  at timestamp, local timestamp_ntz, s string, raw binary, st struct<x: int, y: struct<z: string>>, l array<int>,
  ll array<array<string>>, m map<string, bigint>, ms map<string, struct<q: int>>, ls array<struct<k: string, v: double>>)
  using iceberg partitioned by (b, i, small, day, s) tblproperties ('format-version'='2');
insert into h.types values
  (1, true, 7, 1.5, -2.25, 12.34, -1234567890.0123456789, date'1969-12-31', timestamp'2026-01-01 01:02:03.456789', timestamp_ntz'1960-01-01 00:00:00',
  'a/b=c d', X'00ff', named_struct('x', 1, 'y', named_struct('z', 'deep')), array(1, null, 3), array(array('p'), null, array()), map('k', 1L, 'n', null),
  map('w', named_struct('q', 5)), array(named_struct('k', 'a', 'v', 0.5D))),
  (2, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null),
  (3, false, -1, cast('NaN' as float), cast('-Infinity' as double), -0.01, 0, date'2026-02-28', timestamp'1900-01-01 00:00:00', timestamp_ntz'2262-01-01 00:00:00.000001',
  '', X'', named_struct('x', null, 'y', null), array(), array(), map(), map(), array());
alter table h.types add columns (st.w bigint);
alter table h.types rename column l to numbers;
alter table h.types alter column i type bigint;
alter table h.types alter column small type decimal(20, 2);
alter table h.types alter column ms.value.q type bigint;
insert into h.types (id, i, small, st) values (4, 5000000000, 123456789012345678.99, named_struct('x', 1, 'y', named_struct('z', 'z'), 'w', 9L));
alter table h.types drop column ll;
