-- A lease that lapses at once, so that every acquire is granted.
\set name random(1000001, 1000000 + :names)
SELECT gatepost.lease_acquire(:name, '1 microsecond');
