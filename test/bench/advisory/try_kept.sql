-- What the look costs is the difference to try: the same name each time, so that its hash is known.
\set name 1000001 + :client_id
SELECT gatepost.try_advisory_xact_lock(:name::text);
