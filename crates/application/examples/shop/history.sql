-- What a customer has bought: a join.
\pick c FROM customers zipf:0.8
SELECT o.id, o.placed, p.name, l.pieces
FROM orders o
JOIN order_lines l ON l.order_id = o.id
JOIN products p ON p.id = l.product_id
WHERE o.customer_id = :c_id
ORDER BY o.placed DESC, o.id, l.id;
