-- A comparison of rows of different width would prove nothing.
DO $$
DECLARE
  ours numeric := (SELECT avg(pg_column_size(s)) FROM gatepost.lease_slots s);
  theirs numeric := (SELECT avg(pg_column_size(h)) FROM hand_lease h);
BEGIN
  IF abs(ours - theirs) > 8 THEN
    RAISE EXCEPTION 'rows are % and % bytes wide', round(ours), round(theirs);
  END IF;
END $$;
