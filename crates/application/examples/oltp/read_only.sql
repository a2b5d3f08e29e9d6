-- sysbench's oltp_read_only: ten rows by key and four ranges of a hundred, in one transaction.
BEGIN;
\repeat 10
  \set id pick(1, :sbtest1, special:75:1)
  SELECT c FROM sbtest1 WHERE id = :id;
\end
\set from pick(1, :sbtest1, special:75:1)
\set to :from + 99
SELECT c FROM sbtest1 WHERE id BETWEEN :from AND :to;
\set from pick(1, :sbtest1, special:75:1)
\set to :from + 99
SELECT COALESCE(SUM(k), 0) AS sum FROM sbtest1 WHERE id BETWEEN :from AND :to;
\set from pick(1, :sbtest1, special:75:1)
\set to :from + 99
SELECT c FROM sbtest1 WHERE id BETWEEN :from AND :to ORDER BY c;
\set from pick(1, :sbtest1, special:75:1)
\set to :from + 99
SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN :from AND :to ORDER BY c;
COMMIT;
