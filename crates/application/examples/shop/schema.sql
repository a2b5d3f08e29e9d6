-- A small shop. Each engine gets these tables in its own dialect.
CREATE TABLE customers (
    id BIGSERIAL PRIMARY KEY,
    email VARCHAR(60) NOT NULL UNIQUE,
    name VARCHAR(60) NOT NULL
);

CREATE TABLE categories (
    id INTEGER PRIMARY KEY,
    name VARCHAR(40) NOT NULL
);

CREATE TABLE products (
    id BIGSERIAL PRIMARY KEY,
    category_id INTEGER NOT NULL REFERENCES categories,
    name VARCHAR(80) NOT NULL,
    price DECIMAL(10, 2) NOT NULL,
    description TEXT
);
CREATE INDEX products_by_category ON products (category_id);

CREATE TABLE stock (
    product_id BIGINT PRIMARY KEY REFERENCES products,
    pieces INTEGER NOT NULL
);

CREATE TABLE orders (
    id BIGSERIAL PRIMARY KEY,
    customer_id BIGINT NOT NULL REFERENCES customers,
    placed TIMESTAMP NOT NULL,
    status VARCHAR(10) NOT NULL
);
CREATE INDEX orders_by_customer ON orders (customer_id, placed);

CREATE TABLE order_lines (
    id BIGSERIAL PRIMARY KEY,
    order_id BIGINT NOT NULL REFERENCES orders,
    product_id BIGINT NOT NULL REFERENCES products,
    pieces INTEGER NOT NULL
);
CREATE INDEX order_lines_by_order ON order_lines (order_id);
CREATE INDEX order_lines_by_product ON order_lines (product_id);
