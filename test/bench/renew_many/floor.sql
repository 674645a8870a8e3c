UPDATE bare SET deadline = deadline + 1;
