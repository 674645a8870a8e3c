SELECT try_stale(:name);
