title='Commits on other tables, beside leases and beside as many plain updates'
clients=(8)
contenders=(leases updates)
scripts=([leases]=insert [updates]=insert)
beside=([leases]='-R 300 -D leases=1' [updates]='-R 300 -D leases=0')
aims=('leases updates at-least 0.95')
