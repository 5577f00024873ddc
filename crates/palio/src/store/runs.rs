//! What there is: every run in a few words.

use anyhow::Result;
use serde::Serialize;

use super::{Store, from_json};
use crate::record::{ContenderRecord, Header};
use crate::workload::Preset;

/// One line of `palio list runs`.
#[derive(Clone, Debug, Serialize)]
pub struct RunSummary {
    pub id: String,
    pub suite: String,
    pub preset: Preset,
    pub blocks: u32,
    pub started_at: String,
    pub finished_at: Option<String>,
    /// As a report has it.
    pub state: &'static str,
    /// In the order of the suite, each once.
    pub workloads: Vec<String>,
    /// Those that are not absent.
    pub contenders: Vec<String>,
    pub races: u32,
    /// Races that are over.
    pub races_done: u32,
    pub samples: u64,
}

impl Store {
    /// The names of all runs, in the order of [`runs`](Self::runs).
    pub(super) fn ids(&self) -> Result<Vec<String>> {
        let mut statement = self.connection.prepare(
            "SELECT id FROM run ORDER BY json_extract(header, '$.started_at') DESC, rowid DESC",
        )?;
        let ids = statement.query_map([], |row| row.get(0))?;
        Ok(ids.collect::<rusqlite::Result<_>>()?)
    }

    /// All runs, newest first: a run that was imported later may have been raced before.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn runs(&self) -> Result<Vec<RunSummary>> {
        let mut statement = self.connection.prepare(
            "SELECT run.header, run.contenders,
                    (SELECT count(*) FROM race JOIN cell ON cell.race = race.id
                        JOIN invocation ON invocation.cell = cell.id
                        JOIN sample ON sample.invocation = invocation.id WHERE race.run = run.id)
             FROM run ORDER BY json_extract(run.header, '$.started_at') DESC, run.rowid DESC",
        )?;
        let rows = statement.query_map([], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
        })?;
        let mut races = self.connection.prepare(
            "SELECT json_extract(description, '$.workload'),
                    EXISTS (SELECT 1 FROM cell WHERE cell.race = race.id AND cell.outcome = 'pending')
             FROM race WHERE run = ?1 ORDER BY position",
        )?;
        rows.map(|row| {
            let (header, contenders, samples) = row?;
            let header: Header = from_json(&header)?;
            let contenders: Vec<ContenderRecord> = from_json(&contenders)?;
            let raced = contenders.into_iter().filter(|known| known.absent.is_none());
            let races = races.query_map([&header.id], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let races: Vec<(String, bool)> = races.collect::<rusqlite::Result<_>>()?;
            let done = races.iter().filter(|(_, pending)| !pending).count();
            let count = u32::try_from(races.len()).unwrap_or(u32::MAX);
            let mut workloads: Vec<String> = races.into_iter().map(|(id, _)| id).collect();
            workloads.dedup();
            Ok(RunSummary {
                state: header.state(),
                id: header.id,
                suite: header.suite,
                preset: header.preset,
                blocks: header.blocks,
                started_at: header.started_at,
                finished_at: header.finished_at,
                workloads,
                contenders: raced.map(|known| known.id).collect(),
                races: count,
                races_done: u32::try_from(done).unwrap_or(u32::MAX),
                samples: samples.unsigned_abs(),
            })
        })
        .collect()
    }
}
