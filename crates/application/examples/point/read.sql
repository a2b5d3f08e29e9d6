\set id random(1, :points)
SELECT content FROM points WHERE id = :id;
\assert :row_count = 1
