-- Two partition specs, position deletes, and each kind of change to columns.

create table h.v2 (id bigint, text string, score float, day date, lang string) using iceberg partitioned by (lang)
  tblproperties ('format-version'='2', 'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read');
insert into h.v2 select id, concat('text ', id), cast(id as float) / 7, date_add(date'2026-01-01', cast(id % 40 as int)),
  case when id % 3 = 0 then 'en' when id % 3 = 1 then 'de' else null end from range(0, 60, 1, 1);
delete from h.v2 where id % 17 = 0;
alter table h.v2 create tag `before`;
alter table h.v2 rename column text to body;
alter table h.v2 add column extra struct<a: int, b: string> after body;
alter table h.v2 alter column score type double;
alter table h.v2 drop column day;
alter table h.v2 add column day date;
alter table h.v2 replace partition field lang with bucket(2, id);
insert into h.v2 (id, body, extra, score, lang, day) select id, concat('new ', id), named_struct('a', cast(id as int), 'b', 'x'),
  cast(id as double), 'fr', date'2026-05-05' from range(60, 80, 1, 1);
update h.v2 set lang = 'xx' where id % 31 = 0;
alter table h.v2 create branch audit;
merge into h.v2 t using (select 5L as id union all select 300L) s on t.id = s.id
  when matched then update set body = 'merged' when not matched then insert (id, body) values (s.id, 'inserted');
delete from h.v2 where id >= 78;
call h.system.rewrite_position_delete_files(table => 'v2', options => map('rewrite-all', 'true'));
