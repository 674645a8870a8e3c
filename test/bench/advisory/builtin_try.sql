\set name random(1000001, 1001000)
SELECT pg_try_advisory_xact_lock(hashtextextended(:name::text, 0));
