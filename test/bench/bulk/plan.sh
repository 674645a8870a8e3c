title='100,000 rows in one UPDATE'
clients=(1)
# row_trigger: the least that any BEFORE ROW trigger costs, with one of the server's own.
contenders=(bare lease partitions_bare partitions template column row_trigger)
options=([lease]='-D ready=0' [partitions]='-D ready=0' [template]='-D ready=0' [column]='-D ready=0')
aims=('lease bare at-least 0.97' 'partitions partitions_bare at-least 0.7' 'template bare at-least 0.7'
  'column bare at-least 0.7' 'column row_trigger at-least 0.9')
