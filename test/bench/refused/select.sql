SELECT token FROM hand_lease WHERE name = '1000500';
