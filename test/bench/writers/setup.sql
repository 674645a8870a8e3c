\ir ../used/setup.sql
