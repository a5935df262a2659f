"""The tables of the store, as scripts that migrate each schema version to the next."""

TABLES = {"sweeps", "runs", "members", "events", "snapshots"}

MIGRATIONS = [  # one script per schema version; a released script never changes
    """
    CREATE TABLE sweeps (id INTEGER PRIMARY KEY, name TEXT NOT NULL, spec TEXT NOT NULL, created REAL NOT NULL);
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY, key TEXT NOT NULL, label TEXT NOT NULL, config TEXT NOT NULL,
        status TEXT NOT NULL DEFAULT 'queued', wanted TEXT NOT NULL DEFAULT 'run', attempts INTEGER NOT NULL DEFAULT 0,
        task INTEGER NOT NULL DEFAULT 0, step INTEGER NOT NULL DEFAULT 0,
        acc REAL, fwd REAL, bwd REAL, matrix TEXT, seconds REAL, seconds_per_step REAL, fingerprint TEXT, error TEXT,
        created REAL NOT NULL, started REAL, ended REAL
    );
    CREATE INDEX runs_by_key ON runs (key);
    CREATE INDEX runs_by_status ON runs (status);
    CREATE TABLE members (
        sweep INTEGER NOT NULL REFERENCES sweeps ON DELETE CASCADE,
        run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
        PRIMARY KEY (sweep, run)
    ) WITHOUT ROWID;
    CREATE INDEX members_by_run ON members (run);
    CREATE TABLE events (
        run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, task INTEGER NOT NULL, step INTEGER NOT NULL,
        kind TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (run, kind, task, step)
    ) WITHOUT ROWID;
    CREATE TABLE snapshots (
        run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE, task INTEGER NOT NULL, step INTEGER NOT NULL,
        data BLOB NOT NULL, PRIMARY KEY (run, task, step)
    );
    """,
    # Ids of deleted sweeps and runs are never used again, because links and notes refer to them.
    """
    CREATE TABLE new_sweeps (
        id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, spec TEXT NOT NULL, created REAL NOT NULL
    );
    CREATE TABLE new_runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, label TEXT NOT NULL, config TEXT NOT NULL,
        status TEXT NOT NULL DEFAULT 'queued', wanted TEXT NOT NULL DEFAULT 'run', attempts INTEGER NOT NULL DEFAULT 0,
        task INTEGER NOT NULL DEFAULT 0, step INTEGER NOT NULL DEFAULT 0,
        acc REAL, fwd REAL, bwd REAL, matrix TEXT, seconds REAL, seconds_per_step REAL, fingerprint TEXT, error TEXT,
        created REAL NOT NULL, started REAL, ended REAL
    );
    INSERT INTO new_sweeps SELECT * FROM sweeps;
    INSERT INTO new_runs SELECT * FROM runs;
    DROP TABLE sweeps;
    DROP TABLE runs;
    ALTER TABLE new_sweeps RENAME TO sweeps;
    ALTER TABLE new_runs RENAME TO runs;
    CREATE INDEX runs_by_key ON runs (key);
    CREATE INDEX runs_by_status ON runs (status);
    """,
    # Where the last attempt began, why it had to start from the beginning, and the traceback of a failed run.
    """
    ALTER TABLE runs ADD COLUMN resumed_task INTEGER;
    ALTER TABLE runs ADD COLUMN resumed_step INTEGER;
    ALTER TABLE runs ADD COLUMN notice TEXT;
    ALTER TABLE runs ADD COLUMN traceback TEXT;
    """,
    # The accuracy on the training images that were held out.
    "ALTER TABLE runs ADD COLUMN validation_acc REAL",
    # The names of the tasks, as a JSON list; only the run itself knows them, since its seed may draw domains and classes.
    "ALTER TABLE runs ADD COLUMN task_names TEXT",
    # The code with which a run was requested (`keys.RunKey`), and its place in the queue: the lowest place comes first.
    """
    ALTER TABLE runs ADD COLUMN code TEXT NOT NULL DEFAULT '';
    ALTER TABLE runs ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
    DROP INDEX runs_by_status;
    CREATE INDEX runs_by_place ON runs (status, code, place)
    """,
    # Before this version, true gradients were measured on up to 10,000 images, which a stored config did not name.
    """
    UPDATE runs SET config = json_set(config, '$.probe_samples', 10000)
    WHERE json_valid(config) AND json_extract(config, '$.probe_samples') IS NULL
    """,
]
