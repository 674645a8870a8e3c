SELECT grant_and_release();
