\ir ../pair/setup.sql
CREATE TABLE other (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text NOT NULL);
