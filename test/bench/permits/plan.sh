title='Acquire and release: a lease, and the first free permit of 1,000 with none held and with all but one held'
clients=(1)
contenders=(lease none_held one_free)
scripts=([none_held]=permit [one_free]=permit)
options=([none_held]='-D name=none' [one_free]='-D name=full')
aims=('none_held lease at-least 0.2' 'one_free lease at-least 0.2')
