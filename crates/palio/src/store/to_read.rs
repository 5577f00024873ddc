//! Databases that are only read: those that cannot be written too, those that are damaged, and
//! those that are not there.

use std::path::Path;

use anyhow::{Context, Result};
use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};

use super::{Store, migrations};
use crate::record::{CellRecord, RunRecord};

impl Store {
    /// Opens the database at `path` for reading. Where none is, nothing is made: it has no run.
    ///
    /// # Errors
    /// It is not a database, is damaged, or comes from a newer Palio; or it cannot be read. The
    /// message names the file and says what to do.
    pub fn open_to_read(path: &Path) -> Result<Self> {
        if !path.try_exists().unwrap_or(true) {
            return Ok(Self { path: path.to_owned(), ..Self::in_memory()? });
        }
        // Where it can be written, its schema is brought up to date.
        Self::open(path).or_else(|error| Self::open_read_only(path).map_err(|_| error))
    }

    /// Reads one run out of a database that may be damaged elsewhere. It is audited as a bundle
    /// from outside is; the last races are not found to be missing so, if an index has lost them.
    ///
    /// # Errors
    /// There is no such run, or it is damaged itself; the message names the runs that there are.
    pub fn salvage(path: &Path, name: &str) -> Result<RunRecord> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        migrations::check(&connection)?;
        anyhow::ensure!(migrations::is_current(&connection)?, "it is of an older Palio");
        let damaged = Self { connection, path: path.to_owned() };
        let run = damaged.resolve(name).and_then(|id| damaged.load(&id)).with_context(|| {
            let ids = damaged.ids().unwrap_or_default();
            format!("{name} cannot be read from it (it names the runs {})", ids.join(", "))
        })?;
        // What an index has lost is not missed by who reads by it.
        let is_bare = run.races.is_empty() || run.races.iter().any(|race| race.cells.is_empty());
        anyhow::ensure!(!is_bare, "races or cells of the run {} are missing", run.header.id);
        let is_untimed = run
            .races
            .iter()
            .flat_map(|race| &race.cells)
            .flat_map(CellRecord::raced)
            .any(|one| one.salt.is_some() && one.spans.is_empty());
        anyhow::ensure!(!is_untimed, "clock readings of the run {} are missing", run.header.id);
        let mut bundle = Vec::new();
        super::export(&run, &mut bundle)?;
        Self::in_memory()?
            .import(&bundle[..], None)
            .with_context(|| format!("the run {} is not whole", run.header.id))?;
        Ok(run)
    }

    fn open_read_only(path: &Path) -> Result<Self> {
        let plain = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
        let connection = match plain.map_err(Into::into).and_then(checked) {
            Ok(connection) => connection,
            // Beside a database in its usual mode there are files that even a reader writes; where
            // that is not possible, nobody else writes either.
            Err(_) => checked(immutable(path)?)?,
        };
        if migrations::is_current(&connection)? {
            return Ok(Self { connection, path: path.to_owned() });
        }
        let mut copy = Connection::open_in_memory()?;
        Backup::new(&connection, &mut copy)?.step(-1)?;
        migrations::migrate(&mut copy)?;
        Ok(Self { connection: copy, path: path.to_owned() })
    }
}

fn immutable(path: &Path) -> Result<Connection> {
    let path = path.canonicalize()?;
    let mut uri = "file:".to_owned();
    for c in path.to_str().context("its path is not UTF-8")?.chars() {
        match c {
            '%' => uri.push_str("%25"),
            '?' => uri.push_str("%3f"),
            '#' => uri.push_str("%23"),
            _ => uri.push(c),
        }
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    // What was written last may still be in a file beside it, which is not read so.
    let log = path
        .with_file_name(format!("{}-wal", path.file_name().unwrap_or_default().to_string_lossy()));
    let has_log = log.metadata().is_ok_and(|log| log.len() > 0);
    anyhow::ensure!(!has_log, "the last of it is in {}", log.display());
    Ok(Connection::open_with_flags(uri + "?immutable=1", flags)?)
}

fn checked(connection: Connection) -> Result<Connection> {
    let health: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    anyhow::ensure!(health == "ok", "{health}");
    migrations::check(&connection)?;
    Ok(connection)
}
