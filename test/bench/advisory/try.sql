\set name random(1000001, 1001000)
SELECT gatepost.try_advisory_xact_lock(:name::text);
