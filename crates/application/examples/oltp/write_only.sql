-- sysbench's oltp_write_only: two updates, and a row that is deleted and inserted again.
\set id pick(1, :sbtest1, special:75:1)
\set c digits('###########-###########-###########-###########-###########-###########-###########-###########-###########-###########')
\set other pick(1, :sbtest1, special:75:1)
\set gone pick(1, :sbtest1, special:75:1)
\set k pick(1, :sbtest1, special:75:1)
\set fresh digits('###########-###########-###########-###########-###########-###########-###########-###########-###########-###########')
\set pad digits('###########-###########-###########-###########-###########')
BEGIN;
UPDATE sbtest1 SET k = k + 1 WHERE id = :id;
UPDATE sbtest1 SET c = :c WHERE id = :other;
DELETE FROM sbtest1 WHERE id = :gone;
INSERT INTO sbtest1 (id, k, c, pad) VALUES (:gone, :k, :fresh, :pad);
COMMIT;
