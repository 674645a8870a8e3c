CREATE EXTENSION gatepost;
-- Room for one more version of each row: what an update leaves behind the next one clears away on its page.
CREATE FUNCTION make(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE %I (id int, tenant int NOT NULL, v bigint NOT NULL, fence bigint)
                    WITH (fillfactor = 45, autovacuum_enabled = off)', name);
    EXECUTE format('INSERT INTO %I SELECT n, 1, 0, NULL FROM generate_series(1, 100000) n', name);
END $$;
CREATE FUNCTION make_partitions(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE %I (id int, tenant int NOT NULL, v bigint NOT NULL, fence bigint)
                    PARTITION BY HASH (id)', name);
    FOR n IN 0..3 LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 4, REMAINDER %s)
                        WITH (fillfactor = 45, autovacuum_enabled = off)', name || n, name, n);
    END LOOP;
    EXECUTE format('INSERT INTO %I SELECT n, 1, 0, NULL FROM generate_series(1, 100000) n', name);
END $$;
SELECT make('bare'), make('any_row_trigger'), make('by_lease'), make('by_template'), make('by_column'),
       make_partitions('partitions_bare'), make_partitions('by_lease_partitions');
SELECT gatepost.fence_protect('by_lease', 'tenant:1'), gatepost.fence_protect('by_lease_partitions', 'tenant:1'),
       gatepost.fence_protect('by_template', 'tenant:{tenant}'), gatepost.fence_protect('by_column', NULL, 'fence');
SELECT gatepost.lease_acquire('tenant:1', '1 day');
CREATE VIEW job AS SELECT token FROM gatepost.leases WHERE name = 'tenant:1';
CREATE TRIGGER passes BEFORE UPDATE ON any_row_trigger
    FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
