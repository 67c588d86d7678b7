"""What is asked of environments from elsewhere before they are placed, and before they run.

`incoming` sorts what a remote lists and checks the files of one version; nothing is executed.
`signatures` and `seen` judge who vouches for it and whether a remote takes back what it said
before; `quarantine` keeps what was refused as mere data. `runs` is asked before the first run.
What this machine's user decided, and what it saw, is kept outside every store.
"""
