title='Acquire among a million names'
clients=(8 32)
contenders=(thousand million hand_thousand hand_million)
scripts=([thousand]=lease [million]=lease [hand_thousand]=hand [hand_million]=hand)
databases=([million]=million [hand_million]=million)
options=([thousand]='-D names=1000' [million]='-D names=1000000' [hand_thousand]='-D names=1000'
  [hand_million]='-D names=1000000')
aims=('million thousand at-most 1.3')
