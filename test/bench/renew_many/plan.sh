title='Leases renewed a second: 10,000 in one call, one by one by eight clients, and 10,000 rows in one UPDATE, which is the floor'
clients=(8)
contenders=(many single floor)
# Each client of single has a lease of its own and its token at hand.
options=([many]='-c 1 -j 1' [single]='-D ready=0' [floor]='-c 1 -j 1')
units=([many]=10000 [floor]=10000)
aims=('many single at-least 20')
