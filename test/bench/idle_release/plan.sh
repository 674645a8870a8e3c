title='A release that nobody waits for, beside one without the waking code'
clients=(1 8)
# undone: release and rollback, which flush nothing. pair: as in pair/.
contenders=(undone undone_unwoken pair pair_unwoken)
scripts=([undone]=undone [undone_unwoken]=undone [pair]=../pair/lease [pair_unwoken]=../pair/lease)
databases=([undone_unwoken]=unwoken [pair_unwoken]=unwoken)
aims=('undone undone_unwoken at-least 0.97' 'pair pair_unwoken at-least 0.97')
