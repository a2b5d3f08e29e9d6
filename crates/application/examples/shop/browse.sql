-- A product's page. Its statements read one table by a key or an index: every engine runs them.
\pick p FROM products zipf:0.8
SELECT name, price, description FROM products WHERE id = :p_id;
SELECT pieces FROM stock WHERE product_id = :p_id;
SELECT id, name, price FROM products WHERE category_id = :p_category_id LIMIT 20;
