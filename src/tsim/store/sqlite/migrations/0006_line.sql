-- Writers that ask the others to let them go first, in order. They have the number of their thread, or
-- 0 for all threads, and keep their place until a time (seconds since the epoch), in case they die.
CREATE TABLE line (
    ticket INTEGER PRIMARY KEY AUTOINCREMENT,
    thread INTEGER NOT NULL,
    until REAL NOT NULL
);
