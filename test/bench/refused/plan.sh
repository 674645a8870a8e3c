title='Refused tries on a held name'
clients=(8 32)
contenders=(lease upsert select)
aims=('lease upsert at-least 15' 'lease select at-least 0.9')
