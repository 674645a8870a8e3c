\set name random(1000001, 1001000)
SELECT gatepost.advisory_lock(:name::text);
SELECT gatepost.advisory_unlock(:name::text);
