-- Each client has a row of its own, and its documents at hand as a program would.
\if :ready = 0
SELECT jsonb_build_object('id', :client_id + 1) AS key, jsonb_build_object('v', 'twenty bytes of text') AS changes,
       token, 1 AS ready
FROM token \gset
\endif
SELECT gatepost.fenced_update('work', :key, :changes, :token);
