title='Acquire and release on 1,000 names'
clients=(8)
contenders=(lease upsert update bound)
aims=('lease upsert at-least 1.7' 'lease update at-least 1.7' 'lease bound at-least 0.9')
