title='Named locks against the built-in ones'
clients=(8)
contenders=(try builtin_try try_kept session builtin_session)
aims=('try builtin_try at-least 0.8' 'session builtin_session at-least 0.8')
