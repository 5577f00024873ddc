//! The schema, as the steps that led to it. Append only: a step that has been released is never
//! edited.

use anyhow::{Context, Result, bail};
use rusqlite::Connection;

const STEPS: &[&str] = &[
    // 1: runs, races, cells, invocations, samples.
    "CREATE TABLE run (
        id            TEXT PRIMARY KEY,
        header        TEXT NOT NULL,   -- JSON of record::Header
        contenders    TEXT NOT NULL    -- JSON of [record::ContenderRecord]
     ) STRICT;
     CREATE TABLE race (
        id            INTEGER PRIMARY KEY,
        run           TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
        position      INTEGER NOT NULL,
        description   TEXT NOT NULL,   -- JSON of record::RaceRecord without its cells
        UNIQUE (run, position)
     ) STRICT;
     CREATE TABLE cell (
        id            INTEGER PRIMARY KEY,
        race          INTEGER NOT NULL REFERENCES race (id) ON DELETE CASCADE,
        position      INTEGER NOT NULL,
        contender     TEXT NOT NULL,
        variant       TEXT NOT NULL,   -- JSON object
        shadow        INTEGER NOT NULL,
        command       TEXT NOT NULL,   -- JSON array
        outcome       TEXT NOT NULL,
        detail        TEXT,
        stderr        TEXT,
        warm_ups      INTEGER,
        samples       INTEGER,
        batch         INTEGER,
        UNIQUE (race, position)
     ) STRICT;
     CREATE TABLE invocation (
        id            INTEGER PRIMARY KEY,  -- the order of execution
        cell          INTEGER NOT NULL REFERENCES cell (id) ON DELETE CASCADE,
        block         INTEGER,              -- NULL for the pilot
        position      INTEGER NOT NULL,
        started_at    TEXT NOT NULL,
        outcome       TEXT NOT NULL,
        detail        TEXT,
        wall_us       INTEGER NOT NULL,
        user_us       INTEGER,
        sys_us        INTEGER,
        max_rss_kib   INTEGER,
        voluntary_switches   INTEGER,
        involuntary_switches INTEGER
     ) STRICT;
     CREATE INDEX invocation_of_cell ON invocation (cell);
     CREATE TABLE sample (
        invocation    INTEGER NOT NULL REFERENCES invocation (id) ON DELETE CASCADE,
        position      INTEGER NOT NULL,     -- the order of execution
        warm_up       INTEGER NOT NULL,
        batch         INTEGER NOT NULL,
        elapsed_ns    INTEGER NOT NULL,
        ops           INTEGER NOT NULL,
        answer        TEXT,                 -- NULL for the right one
        work          INTEGER,
        user_us       INTEGER,
        sys_us        INTEGER,
        PRIMARY KEY (invocation, position)
     ) STRICT, WITHOUT ROWID;",
    // 2: the distribution of a sample's events; all five are NULL where there are none.
    "ALTER TABLE sample ADD COLUMN events INTEGER;
     ALTER TABLE sample ADD COLUMN p50_ns INTEGER;
     ALTER TABLE sample ADD COLUMN p99_ns INTEGER;
     ALTER TABLE sample ADD COLUMN p999_ns INTEGER;
     ALTER TABLE sample ADD COLUMN max_ns INTEGER;",
    // 3: every `run` command by Palio's own clock; runs of before have none.
    "CREATE TABLE span (
        invocation    INTEGER NOT NULL REFERENCES invocation (id) ON DELETE CASCADE,
        position      INTEGER NOT NULL,     -- the order of execution
        warm_up       INTEGER NOT NULL,
        samples       INTEGER NOT NULL,
        wall_ns       INTEGER NOT NULL,
        cpu_ns        INTEGER,
        PRIMARY KEY (invocation, position)
     ) STRICT, WITHOUT ROWID;",
    // 4: what `--salt` gave a process, as the signed number of the same bits.
    "ALTER TABLE invocation ADD COLUMN salt INTEGER;",
    // 5: how far apart the lines of a command came; NULL in runs of before.
    "ALTER TABLE span ADD COLUMN line_ns INTEGER;",
    // 6: what `palio export --thin` left out; NULL where nothing was.
    "ALTER TABLE invocation ADD COLUMN dropped TEXT;  -- JSON of record::Dropped",
    // 7: what was handed to the runtime; NULL where nobody asked, and in runs of before.
    "ALTER TABLE cell ADD COLUMN forks TEXT;  -- JSON of record::ForksRecord",
    // 8: how often a CPU budget was used up; NULL without one.
    "ALTER TABLE invocation ADD COLUMN throttled TEXT;  -- JSON of budget::Throttled",
    // 9: runs that later ones are checked against.
    "CREATE TABLE baseline (
        name          TEXT PRIMARY KEY,
        run           TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
        anchor        TEXT,
        saved_at      TEXT NOT NULL
     ) STRICT;",
    // 10: what the requests of a sample met with; NULL where none was sent.
    "ALTER TABLE sample ADD COLUMN load TEXT;  -- JSON of load::LoadRecord",
];

/// The version that this Palio writes.
pub(super) fn version() -> u32 {
    u32::try_from(STEPS.len()).unwrap_or(u32::MAX)
}

/// Refuses what this Palio must not touch: a database of a newer one, or of another program. Writes
/// nothing.
pub(super) fn check(connection: &Connection) -> Result<()> {
    let found: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found > version() {
        bail!(
            "it was written by a newer Palio (schema {found}, this one knows {}): update Palio, or choose another \
             database with --db",
            version()
        );
    }
    let (all, ours): (u32, u32) = connection.query_row(
        "SELECT count(*), count(*) FILTER (WHERE type = 'table' AND name = 'run') FROM sqlite_schema",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    if (found == 0 && all > 0) || (found > 0 && ours == 0) {
        bail!("it is a database, but not one of Palio: choose another with --db");
    }
    Ok(())
}

/// Whether the schema is the one that this Palio writes.
pub(super) fn is_current(connection: &Connection) -> Result<bool> {
    let found: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    Ok(found == version())
}

/// Brings the schema up to date, one transaction a step.
pub(super) fn migrate(connection: &mut Connection) -> Result<()> {
    let found: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    for (number, step) in (1_u32..).zip(STEPS).skip(found as usize) {
        let transaction =
            connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        // Another process may have been faster.
        let now: u32 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if now >= number {
            continue;
        }
        transaction.execute_batch(step).with_context(|| format!("migration {number} failed"))?;
        transaction.pragma_update(None, "user_version", number)?;
        transaction.commit()?;
    }
    Ok(())
}
