\set id pick(1, :sbtest1, special:75:1)
SELECT c FROM sbtest1 WHERE id = :id;
