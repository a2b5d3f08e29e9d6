-- Each query must answer 0, or nothing.
SELECT COUNT(*) FROM order_lines l LEFT JOIN orders o ON o.id = l.order_id WHERE o.id IS NULL;
