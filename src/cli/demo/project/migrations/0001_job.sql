CREATE TABLE job (
    id INTEGER PRIMARY KEY,
    state TEXT NOT NULL DEFAULT 'ready',
    owner TEXT,
    started REAL,
    attempts INTEGER NOT NULL DEFAULT 0,
    payload TEXT NOT NULL
);
CREATE TABLE dead_letter (
    id INTEGER PRIMARY KEY,
    payload TEXT NOT NULL,
    given_up REAL NOT NULL
);
