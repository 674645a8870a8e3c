title='Acquire and release: nobody outside, and with a watcher that every release notifies'
clients=(1 8)
contenders=(told alone)
