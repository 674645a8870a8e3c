SELECT gatepost.lease_acquire('1000500', '30 s');
