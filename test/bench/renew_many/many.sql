SELECT count(*) FROM batch, gatepost.lease_renew_many(names, tokens);
