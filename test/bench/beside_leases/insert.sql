INSERT INTO other (body) VALUES ('as much as a row of something else may hold');
