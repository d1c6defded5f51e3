-- A table of version 1 that became version 2: files without sequence numbers.

create table h.v1 (id int, name string) using iceberg partitioned by (truncate(1, name)) tblproperties ('format-version'='1');
insert into h.v1 values (1, 'ant'), (2, 'bee'), (3, null), (4, 'boar');
delete from h.v1 where id = 1;
alter table h.v1 alter column id type bigint;
alter table h.v1 set tblproperties ('format-version'='2', 'write.delete.mode'='merge-on-read');
insert into h.v1 values (5000000000, 'bat'), (6, 'ant');
delete from h.v1 where name = 'bee' or id = 6;
