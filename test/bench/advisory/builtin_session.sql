\set name random(1000001, 1001000)
SELECT pg_advisory_lock(hashtextextended(:name::text, 0));
SELECT pg_advisory_unlock(hashtextextended(:name::text, 0));
