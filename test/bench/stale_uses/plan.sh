title='Grants of a free name while 3 clients try a stale token again and again'
clients=(1)
contenders=(same_name other_name)
scripts=([same_name]=grants [other_name]=grants)
beside=([same_name]='-D name=1' [other_name]='-D name=2')
aims=('same_name other_name at-least 0.95')
