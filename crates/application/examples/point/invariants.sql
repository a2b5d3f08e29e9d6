-- No client changes the number of rows.
SELECT COALESCE(SUM(id), 0) AS sum FROM points \gset
\assert :sum = :points * (:points + 1) / 2
