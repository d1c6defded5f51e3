-- Deletion vectors over rows that a table of version 2 deleted by position.

create table h.upgraded (id bigint, text string) using iceberg tblproperties ('format-version'='2', 'write.delete.mode'='merge-on-read');
insert into h.upgraded select id, concat('text ', id) from range(0, 50, 1, 1);
delete from h.upgraded where id % 5 = 0;
alter table h.upgraded set tblproperties ('format-version'='3');
delete from h.upgraded where id % 7 = 0;
insert into h.upgraded select id, concat('text ', id) from range(50, 60, 1, 1);
