title='A fenced update of one row'
clients=(8 32)
contenders=(fenced_update conditional_update)
options=([fenced_update]='-D ready=0' [conditional_update]='-D ready=0')
aims=('fenced_update conditional_update at-least 0.85')
