-- The server's own delay before a flush stands for a disk on a network: who comes meanwhile is flushed along.
\ir ../pair/setup.sql
ALTER DATABASE slow_flush SET commit_delay = 5000;
ALTER DATABASE slow_flush SET commit_siblings = 0;
