//! The store: one SQLite file with every run, invocation and sample. The only module that speaks
//! SQL.

mod baselines;
mod bundle;
mod forget;
mod incoming;
mod lease;
mod migrations;
mod new;
mod reading;
mod runs;
mod to_read;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use baselines::Baseline;
pub use bundle::{export, export_packed, schema as bundle_schema};
pub use lease::Lease;
pub use runs::RunSummary;

use crate::record::{CellRecord, Header, InvocationRecord, RaceRecord, RunRecord, SampleRecord};

/// An open database.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

/// Where runs are kept by default: the user's data directory.
///
/// # Errors
/// Neither `XDG_DATA_HOME` nor `HOME` is set.
pub fn default_path() -> Result<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = absolute("XDG_DATA_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".local/share")))
        .context(
        "there is no data directory: set HOME or XDG_DATA_HOME, or choose a database with --db",
    )?;
    Ok(data.join("palio").join("palio.db"))
}

fn json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).context("cannot write as JSON")
}

fn from_json<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).context("a stored value is malformed")
}

/// SQLite keeps signed numbers: that of the same bits, so that the largest is read as it was
/// written.
fn signed(value: u64) -> i64 {
    value.cast_signed()
}

impl Store {
    /// Opens the database at `path` and brings its schema up to date; makes it if it is not there.
    ///
    /// # Errors
    /// It cannot be made or written, is not a database, is damaged, or comes from a newer Palio.
    /// The message names the file and says what to do.
    pub fn open(path: &Path) -> Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).with_context(|| {
                format!(
                    "cannot make the folder {}: choose another database with --db",
                    folder.display()
                )
            })?;
        }
        Self::open_existing_or_new(path)
            .with_context(|| format!("cannot use the database {}", path.display()))
    }

    fn open_existing_or_new(path: &Path) -> Result<Self> {
        let advice = "choose another database with --db";
        new::make(path).context(advice)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).context(advice)?;
        connection.busy_timeout(std::time::Duration::from_secs(10))?;
        // What cannot be used is left as it is found, so all checks come before the first write.
        let health: String = connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|error| match error.sqlite_error_code() {
                Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                    anyhow!(error).context(damaged(path))
                }
                _ => anyhow!(error).context(advice),
            })?;
        if health != "ok" {
            bail!("{health}; {}", damaged(path));
        }
        migrations::check(&connection)?;
        connection.pragma_update(None, "journal_mode", "wal").context(advice)?;
        // In WAL mode, `full` makes every committed invocation durable, and there are only a few
        // commits a second.
        connection.pragma_update(None, "synchronous", "full")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        migrations::migrate(&mut connection).context(advice)?;
        // A medium that can be read but not written shows here, not after an hour of racing.
        connection
            .execute_batch("BEGIN IMMEDIATE; ROLLBACK")
            .context(format!("it cannot be written: {advice}"))?;
        Ok(Self { connection, path: path.to_owned() })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stores a whole run with whatever it holds.
    ///
    /// # Errors
    /// There is a run of that id, or the database cannot be written.
    pub fn insert(&mut self, run: &RunRecord) -> Result<()> {
        let exists = self
            .connection
            .query_row("SELECT 1 FROM run WHERE id = ?1", [&run.header.id], |_| Ok(()))
            .optional()?
            .is_some();
        if exists {
            bail!("the run {} is there already", run.header.id);
        }
        self.write("the run", |transaction| {
            transaction.execute(
                "INSERT INTO run (id, header, contenders) VALUES (?1, ?2, ?3)",
                params![run.header.id, json(&run.header)?, json(&run.contenders)?],
            )?;
            for (position, race) in (0_u32..).zip(&run.races) {
                let race_id = insert_race(transaction, &run.header.id, position, race)?;
                for (position, cell) in (0_u32..).zip(&race.cells) {
                    let cell_id = insert_cell(transaction, race_id, position, cell)?;
                    for invocation in &cell.invocations {
                        insert_invocation(transaction, cell_id, invocation)?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Writes all of it or nothing; durable when this returns.
    fn write(
        &mut self,
        what: &str,
        write: impl FnOnce(&Transaction<'_>) -> Result<()>,
    ) -> Result<()> {
        let all = || -> Result<()> {
            let transaction = self.connection.transaction()?;
            write(&transaction)?;
            Ok(transaction.commit()?)
        };
        all().with_context(|| format!("cannot store {what} in {}", self.path.display()))
    }

    /// Stores one invocation and what it means for its cell; durable when this returns.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn add_invocation(
        &mut self,
        run: &str,
        (race, cell): (usize, usize),
        record: &CellRecord,
        invocation: &InvocationRecord,
    ) -> Result<()> {
        self.write("a result", |transaction| {
            let cell_id = cell_id(transaction, run, race, cell)?;
            update_cell(transaction, cell_id, record)?;
            insert_invocation(transaction, cell_id, invocation)
        })
    }

    /// Stores a change of a cell's outcome or schedule.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn update_cell(
        &mut self,
        run: &str,
        (race, cell): (usize, usize),
        record: &CellRecord,
    ) -> Result<()> {
        self.write("a result", |transaction| {
            let cell_id = cell_id(transaction, run, race, cell)?;
            update_cell(transaction, cell_id, record)
        })
    }

    /// Replaces what is stored of a race beside its cells, as when a block of it ends.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn update_race(&mut self, run: &str, race: usize, record: &RaceRecord) -> Result<()> {
        self.write("a block", |transaction| update_race(transaction, run, race, record))
    }

    /// Stores what became known of the contenders of a run, and what that means for these cells
    /// (race and cell) and their races.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn update_contenders(&mut self, run: &RunRecord, cells: &[(usize, usize)]) -> Result<()> {
        let id = &run.header.id;
        self.write("who races", |transaction| {
            let contenders = json(&run.contenders)?;
            let sql = "UPDATE run SET contenders = ?2 WHERE id = ?1";
            transaction.execute(sql, params![id, contenders])?;
            for &(race, cell) in cells {
                let record = &run.races[race];
                let cell_id = cell_id(transaction, id, race, cell)?;
                update_cell(transaction, cell_id, &record.cells[cell])?;
                update_race(transaction, id, race, record)?;
            }
            Ok(())
        })
    }

    /// Replaces a run's header, as when it finishes.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn update_header(&mut self, header: &Header) -> Result<()> {
        self.connection
            .execute("UPDATE run SET header = ?2 WHERE id = ?1", params![header.id, json(header)?])
            .with_context(|| {
                format!("cannot store the end of the run in {}", self.path.display())
            })?;
        Ok(())
    }

    /// The id that `name` means: an id, an unambiguous beginning of one, or `latest`.
    ///
    /// # Errors
    /// There is no such run, or there are several.
    pub fn resolve(&self, name: &str) -> Result<String> {
        // No more than the names, which a database that is damaged elsewhere still has.
        let runs = self.ids()?;
        if name == "latest" {
            return runs.first().cloned().with_context(|| {
                format!("there is no run in {} yet: `palio run` makes one", self.path.display())
            });
        }
        let found: Vec<&str> = runs
            .iter()
            .map(String::as_str)
            .filter(|id| *id == name || id.starts_with(name))
            .collect();
        match found[..] {
            [id] => Ok(id.to_owned()),
            [] => bail!(
                "there is no run {name:?} in {}; `palio list runs` shows them",
                self.path.display()
            ),
            _ if found.contains(&name) => Ok(name.to_owned()),
            _ => bail!("{name:?} may be any of {}: say more of it", found.join(", ")),
        }
    }

    /// The newest run that was not finished.
    ///
    /// # Errors
    /// There is none, or the database cannot be read.
    pub fn latest_unfinished(&self) -> Result<String> {
        self.runs()?
            .into_iter()
            .find(|run| run.finished_at.is_none())
            .map(|run| run.id)
            .with_context(|| {
                format!(
                    "no run in {} is unfinished, so that there is nothing to resume: `palio report` shows the \
                     latest, `palio list runs` all",
                    self.path.display()
                )
            })
    }

    /// Reads a whole run.
    ///
    /// # Errors
    /// There is none of that id, or what is stored is damaged.
    pub fn load(&self, id: &str) -> Result<RunRecord> {
        self.load_run(id)
            .with_context(|| format!("cannot read the run {id} from {}", self.path.display()))
    }

    fn load_run(&self, id: &str) -> Result<RunRecord> {
        let (header, contenders): (String, String) = self
            .connection
            .query_row("SELECT header, contenders FROM run WHERE id = ?1", [id], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?
            .context("there is no such run")?;
        let mut statement = self
            .connection
            .prepare("SELECT id, description FROM race WHERE run = ?1 ORDER BY position")?;
        let races = statement
            .query_map([id], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?
            .map(|row| {
                let (race_id, description) = row?;
                let race: RaceRecord = from_json(&description)?;
                let mut race =
                    RaceRecord { cells: reading::load_cells(&self.connection, race_id)?, ..race };
                race.mark_disturbed();
                Ok(race)
            })
            .collect::<Result<_>>()?;
        Ok(RunRecord { header: from_json(&header)?, contenders: from_json(&contenders)?, races })
    }
}

fn damaged(path: &Path) -> String {
    format!(
        "it is not a database, or a damaged one: restore it from a bundle (`palio import`), move {} away, or choose \
         another with --db. `palio export RUN FILE` still gets out each run that can be read",
        path.display()
    )
}

fn cell_id(transaction: &Transaction<'_>, run: &str, race: usize, cell: usize) -> Result<i64> {
    let mut statement = transaction.prepare_cached(
        "SELECT cell.id FROM cell JOIN race ON cell.race = race.id
         WHERE race.run = ?1 AND race.position = ?2 AND cell.position = ?3",
    )?;
    statement
        .query_row(params![run, i64::try_from(race)?, i64::try_from(cell)?], |row| row.get(0))
        .with_context(|| {
            format!("cell {cell} of race {race} of the run {run} is not in the database")
        })
}

fn insert_race(
    transaction: &Transaction<'_>,
    run: &str,
    position: u32,
    race: &RaceRecord,
) -> Result<i64> {
    let description = RaceRecord { cells: Vec::new(), ..race.clone() };
    transaction.execute(
        "INSERT INTO race (run, position, description) VALUES (?1, ?2, ?3)",
        params![run, position, json(&description)?],
    )?;
    Ok(transaction.last_insert_rowid())
}

fn update_race(
    transaction: &Transaction<'_>,
    run: &str,
    race: usize,
    record: &RaceRecord,
) -> Result<()> {
    let description = RaceRecord { cells: Vec::new(), ..record.clone() };
    let sql = "UPDATE race SET description = ?3 WHERE run = ?1 AND position = ?2";
    transaction.execute(sql, params![run, i64::try_from(race)?, json(&description)?])?;
    Ok(())
}

fn insert_cell(
    transaction: &Transaction<'_>,
    race_id: i64,
    position: u32,
    cell: &CellRecord,
) -> Result<i64> {
    transaction
        .prepare_cached(
            "INSERT INTO cell (race, position, contender, variant, shadow, command, outcome)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, '')",
        )?
        .execute(params![
            race_id,
            position,
            cell.contender,
            json(&cell.variant)?,
            cell.shadow,
            json(&cell.command)?
        ])?;
    let cell_id = transaction.last_insert_rowid();
    update_cell(transaction, cell_id, cell)?;
    Ok(cell_id)
}

fn update_cell(transaction: &Transaction<'_>, cell_id: i64, cell: &CellRecord) -> Result<()> {
    transaction
        .prepare_cached(
            "UPDATE cell SET outcome = ?2, detail = ?3, stderr = ?4, warm_ups = ?5, samples = ?6, batch = ?7,
                             forks = ?8, contender = ?9, variant = ?10, command = ?11
             WHERE id = ?1",
        )?
        .execute(params![
            cell_id,
            cell.outcome.name(),
            cell.detail,
            cell.stderr,
            cell.schedule.map(|s| s.warm_ups),
            cell.schedule.map(|s| s.samples),
            cell.schedule.map(|s| s.batch),
            cell.forks.as_ref().map(json).transpose()?,
            cell.contender,
            json(&cell.variant)?,
            json(&cell.command)?
        ])?;
    Ok(())
}

fn insert_invocation(
    transaction: &Transaction<'_>,
    cell_id: i64,
    invocation: &InvocationRecord,
) -> Result<()> {
    let resources = &invocation.resources;
    transaction
        .prepare_cached(
            "INSERT INTO invocation (cell, block, position, started_at, outcome, detail, wall_us, user_us, sys_us,
                                     max_rss_kib, voluntary_switches, involuntary_switches, salt, dropped, throttled)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        )?
        .execute(params![
            cell_id,
            invocation.block,
            invocation.position,
            invocation.started_at,
            invocation.outcome.name(),
            invocation.detail,
            signed(resources.wall_us),
            resources.user_us.map(signed),
            resources.sys_us.map(signed),
            resources.max_rss_kib.map(signed),
            resources.voluntary_switches.map(signed),
            resources.involuntary_switches.map(signed),
            invocation.salt.map(u64::cast_signed),
            invocation.dropped.map(|dropped| json(&dropped)).transpose()?,
            invocation.throttled.map(|throttled| json(&throttled)).transpose()?
        ])?;
    let invocation_id = transaction.last_insert_rowid();
    let mut statement = transaction.prepare_cached(
        "INSERT INTO span (invocation, position, warm_up, samples, wall_ns, cpu_ns, line_ns)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for (position, span) in (0_u32..).zip(&invocation.spans) {
        statement.execute(params![
            invocation_id,
            position,
            span.warm_up,
            span.samples,
            signed(span.wall_ns),
            span.cpu_ns.map(signed),
            span.line_ns.map(signed)
        ])?;
    }
    for (position, sample) in (0_u32..).zip(&invocation.samples) {
        insert_sample(transaction, invocation_id, position, sample)?;
    }
    Ok(())
}

fn insert_sample(
    transaction: &Transaction<'_>,
    invocation_id: i64,
    position: u32,
    sample: &SampleRecord,
) -> Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO sample (invocation, position, warm_up, batch, elapsed_ns, ops, answer, work, user_us, sys_us,
                                 events, p50_ns, p99_ns, p999_ns, max_ns, load)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        )?
        .execute(params![
            invocation_id,
            position,
            sample.warm_up,
            sample.batch,
            signed(sample.elapsed_ns),
            signed(sample.ops),
            sample.answer,
            sample.work.map(signed),
            sample.user_us.map(signed),
            sample.sys_us.map(signed),
            sample.distribution.map(|d| signed(d.events)),
            sample.distribution.map(|d| signed(d.p50_ns)),
            sample.distribution.map(|d| signed(d.p99_ns)),
            sample.distribution.map(|d| signed(d.p999_ns)),
            sample.distribution.map(|d| signed(d.max_ns)),
            sample.load.as_ref().map(json).transpose()?
        ])?;
    Ok(())
}
