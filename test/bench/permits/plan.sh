title='Acquire and release: a lease, and the first free permit of 1,000 with none held and with all but one held; undone: without a flush'
clients=(1)
contenders=(lease none_held one_free lease_undone none_held_undone one_free_undone)
scripts=([none_held]=permit [one_free]=permit [none_held_undone]=permit_undone [one_free_undone]=permit_undone)
options=([none_held]='-D name=none' [one_free]='-D name=full' [none_held_undone]='-D name=none' [one_free_undone]='-D name=full')
aims=('none_held lease at-least 0.2' 'one_free lease at-least 0.2'
  'none_held_undone lease_undone at-least 0.2' 'one_free_undone lease_undone at-least 0.2')
