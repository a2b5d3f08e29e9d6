-- What sells in a category.
\pick g FROM categories
SELECT p.id, COUNT(l.id) AS times, SUM(l.pieces) AS pieces
FROM products p
JOIN order_lines l ON l.product_id = p.id
WHERE p.category_id = :g_id
GROUP BY p.id
ORDER BY p.id;
