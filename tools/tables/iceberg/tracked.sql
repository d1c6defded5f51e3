-- Row IDs: of files, inherited and kept by updates, merges and compactions, and of a table that had none.

create table h.tracked (id bigint, text string, n int) using iceberg partitioned by (n)
  tblproperties ('format-version'='2', 'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read', 'write.merge.mode'='copy-on-write');
insert into h.tracked select id, concat('text ', id), cast(id % 2 as int) from range(0, 20, 1, 2);
alter table h.tracked set tblproperties ('format-version'='3');
insert into h.tracked select id, concat('text ', id), cast(id % 3 as int) from range(20, 40, 1, 2);
delete from h.tracked where id % 7 = 0;
update h.tracked set text = 'updated' where id % 5 = 0;
merge into h.tracked t using (select id, concat('new ', id) as text, 1 as n from range(30, 45)) s on t.id = s.id
  when matched and s.id % 2 = 0 then update set * when matched then delete when not matched then insert *;
call h.system.rewrite_manifests('tracked');
alter table h.tracked rename column text to body;
update h.tracked set body = 'twice' where id % 10 = 0;
call h.system.rewrite_data_files(table => 'tracked', options => map('rewrite-all', 'true'));
insert into h.tracked select id, concat('late ', id), 0 from range(45, 50, 1, 1);
delete from h.tracked where id in (3, 46);
