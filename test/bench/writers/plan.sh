title='Writers with the same token'
clients=(8 64)
contenders=(used plain)
scripts=([used]=../used/used [plain]=../used/plain)
options=([used]='-D ready=0')
aims=('used plain at-least 0.9')
