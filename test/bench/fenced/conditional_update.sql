\if :ready = 0
SELECT :client_id + 1 AS id, 'twenty bytes of text' AS v, token, 1 AS ready FROM token \gset
\endif
UPDATE work SET v = :v, fence = :token WHERE id = :id AND (fence IS NULL OR fence <= :token);
