//! Runs that later ones are checked against, each under a name.

use anyhow::{Context, Result, bail};
use rusqlite::params;
use serde::Serialize;

use super::Store;
use crate::suggest::nearest;

/// A run that later ones are checked against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Baseline {
    pub name: String,
    /// The id of the run.
    pub run: String,
    /// By whose times those of both runs are divided, unless the check names another one.
    pub anchor: Option<String>,
    /// RFC 3339, UTC.
    pub saved_at: String,
}

impl Store {
    /// Stores a baseline, in the place of one of the same name if it `replaces`.
    ///
    /// # Errors
    /// There is one of that name, or the database cannot be written.
    pub fn save_baseline(&mut self, baseline: &Baseline, replaces: bool) -> Result<()> {
        let Baseline { name, run, anchor, saved_at } = baseline;
        if let Some(known) = self.baselines()?.iter().find(|known| known.name == *name && !replaces)
        {
            bail!(
                "there is a baseline {name:?} already, the run {}: --replace puts this one in its place",
                known.run
            );
        }
        self.write("the baseline", |transaction| {
            transaction.execute(
                "INSERT OR REPLACE INTO baseline (name, run, anchor, saved_at) VALUES (?1, ?2, ?3, ?4)",
                params![name, run, anchor, saved_at],
            )?;
            Ok(())
        })
    }

    /// All baselines, by name.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn baselines(&self) -> Result<Vec<Baseline>> {
        let sql = "SELECT name, run, anchor, saved_at FROM baseline ORDER BY name";
        let mut statement = self.connection.prepare(sql)?;
        let rows = statement.query_map([], |row| {
            Ok(Baseline {
                name: row.get(0)?,
                run: row.get(1)?,
                anchor: row.get(2)?,
                saved_at: row.get(3)?,
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The baseline called `name`.
    ///
    /// # Errors
    /// There is none; the message offers the nearest.
    pub fn baseline(&self, name: &str) -> Result<Baseline> {
        let all = self.baselines()?;
        let near = nearest(name, all.iter().map(|known| known.name.as_str()));
        let hint = near.map(|near| format!(" (did you mean {near:?}?)")).unwrap_or_default();
        let missing = format!(
            "there is no baseline {name:?} in {}{hint}: `palio baseline list` shows them, `palio baseline save {name}` \
             saves the latest run as one",
            self.path.display()
        );
        all.into_iter().find(|known| known.name == name).context(missing)
    }

    /// Forgets a baseline; its run stays.
    ///
    /// # Errors
    /// There is none of that name, or the database cannot be written.
    pub fn remove_baseline(&mut self, name: &str) -> Result<Baseline> {
        let known = self.baseline(name)?;
        self.write("the end of a baseline", |transaction| {
            transaction.execute("DELETE FROM baseline WHERE name = ?1", [name])?;
            Ok(())
        })?;
        Ok(known)
    }
}
