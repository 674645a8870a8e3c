title='One row in a transaction that uses a token, table protected by lease'
clients=(8)
contenders=(used plain)
options=([used]='-D ready=0')
aims=('used plain at-least 0.85')
