-- Deletion vectors, of which one replaces another, and partitions by an expression.

create table h.v3 (id bigint, text string, at timestamp) using iceberg partitioned by (days(at))
  tblproperties ('format-version'='3', 'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read');
insert into h.v3 select id, concat('text ', id), timestamp'2026-01-01 00:00:00' + make_interval(0, 0, 0, cast(id % 2 as int)) from range(0, 100, 1, 1);
delete from h.v3 where id % 13 = 0 or id between 10 and 20;
delete from h.v3 where id = 77;
update h.v3 set text = 'updated' where id = 50;
insert into h.v3 select id, concat('late ', id), timestamp'2026-01-03 00:00:00' from range(100, 110, 1, 1);
delete from h.v3 where id > 105;
call h.system.rewrite_data_files(table => 'v3', options => map('rewrite-all', 'true'));
delete from h.v3 where id = 3;
