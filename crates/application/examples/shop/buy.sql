-- An order of a few products, in one transaction.
\pick c FROM customers zipf:0.8
\set n random(1, 4)
BEGIN;
INSERT INTO orders (customer_id, placed, status) VALUES (:c_id, :now, 'new') RETURNING id \gset o_
\repeat :n
  \pick p FROM products zipf:0.8
  INSERT INTO order_lines (order_id, product_id, pieces) VALUES (:o_id, :p_id, 1);
  UPDATE stock SET pieces = pieces + -1 WHERE product_id = :p_id;
\end
UPDATE orders SET status = 'paid' WHERE id = :o_id;
COMMIT;
