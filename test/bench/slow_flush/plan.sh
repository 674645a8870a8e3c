title='Acquire and release on 1,000 names, where a flush takes 5 ms more'
clients=(8)
contenders=(lease upsert update bound)
scripts=([lease]=../pair/lease [upsert]=../pair/upsert [update]=../pair/update [bound]=../pair/bound)
aims=('lease upsert at-least 1.7' 'lease update at-least 1.7' 'lease bound at-least 0.9')
