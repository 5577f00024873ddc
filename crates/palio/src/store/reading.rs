//! The rows of a race as records: all of them, or one after the other.

use std::str::FromStr;

use anyhow::{Result, anyhow};
use rusqlite::Connection;

use super::from_json;
use crate::record::{
    CellRecord, DistributionRecord, InvocationRecord, Resources, SampleRecord, Schedule, SpanRecord,
};

/// A stored word, such as an outcome.
fn word<T: FromStr<Err = String>>(text: &str) -> Result<T> {
    text.parse().map_err(|error: String| anyhow!("a stored value is malformed: {error}"))
}

pub(super) fn load_cells(connection: &Connection, race_id: i64) -> Result<Vec<CellRecord>> {
    let cells = cell_rows(connection, race_id)?.into_iter().map(|(id, cell)| {
        let invocations = invocation_rows(connection, id)?.into_iter().map(|(id, invocation)| {
            let mut samples = Vec::new();
            each_sample(connection, id, |_, sample| {
                samples.push(sample);
                Ok(())
            })?;
            Ok(InvocationRecord { samples, ..invocation })
        });
        Ok(CellRecord { invocations: invocations.collect::<Result<_>>()?, ..cell })
    });
    cells.collect()
}

/// The cells of a race without their invocations.
pub(super) fn cell_rows(connection: &Connection, race_id: i64) -> Result<Vec<(i64, CellRecord)>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, contender, variant, shadow, command, outcome, detail, stderr, warm_ups, samples, batch, forks
         FROM cell WHERE race = ?1 ORDER BY position",
    )?;
    let mut rows = statement.query([race_id])?;
    let mut cells = Vec::new();
    while let Some(row) = rows.next()? {
        let schedule = match (row.get(8)?, row.get(9)?, row.get(10)?) {
            (Some(warm_ups), Some(samples), Some(batch)) => {
                Some(Schedule { warm_ups, samples, batch })
            }
            _ => None,
        };
        let cell = CellRecord {
            contender: row.get(1)?,
            variant: from_json(&row.get::<_, String>(2)?)?,
            shadow: row.get(3)?,
            command: from_json(&row.get::<_, String>(4)?)?,
            outcome: word(&row.get::<_, String>(5)?)?,
            detail: row.get(6)?,
            stderr: row.get(7)?,
            schedule,
            forks: match row.get::<_, Option<String>>(11)? {
                Some(text) => Some(from_json(&text)?),
                None => None,
            },
            invocations: Vec::new(),
        };
        cells.push((row.get(0)?, cell));
    }
    Ok(cells)
}

/// The invocations of a cell without their samples.
pub(super) fn invocation_rows(
    connection: &Connection,
    cell_id: i64,
) -> Result<Vec<(i64, InvocationRecord)>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, block, position, started_at, outcome, detail, wall_us, user_us, sys_us, max_rss_kib,
                voluntary_switches, involuntary_switches, salt, dropped, throttled
         FROM invocation WHERE cell = ?1 ORDER BY id",
    )?;
    let mut rows = statement.query([cell_id])?;
    let mut invocations = Vec::new();
    while let Some(row) = rows.next()? {
        let number = |column: usize| {
            Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(i64::cast_unsigned))
        };
        let invocation = InvocationRecord {
            block: row.get(1)?,
            position: row.get(2)?,
            started_at: row.get(3)?,
            salt: row.get::<_, Option<i64>>(12)?.map(i64::cast_unsigned),
            outcome: word(&row.get::<_, String>(4)?)?,
            detail: row.get(5)?,
            // Follows from the race's blocks.
            disturbed: false,
            resources: Resources {
                wall_us: number(6)?.unwrap_or(0),
                user_us: number(7)?,
                sys_us: number(8)?,
                max_rss_kib: number(9)?,
                voluntary_switches: number(10)?,
                involuntary_switches: number(11)?,
            },
            dropped: match row.get::<_, Option<String>>(13)? {
                Some(text) => Some(from_json(&text)?),
                None => None,
            },
            throttled: match row.get::<_, Option<String>>(14)? {
                Some(text) => Some(from_json(&text)?),
                None => None,
            },
            spans: load_spans(connection, row.get(0)?)?,
            samples: Vec::new(),
        };
        invocations.push((row.get(0)?, invocation));
    }
    Ok(invocations)
}

fn load_spans(connection: &Connection, invocation_id: i64) -> Result<Vec<SpanRecord>> {
    let mut statement = connection.prepare_cached(
        "SELECT warm_up, samples, wall_ns, cpu_ns, line_ns FROM span WHERE invocation = ?1 ORDER BY position",
    )?;
    let spans = statement.query_map([invocation_id], |row| {
        Ok(SpanRecord {
            warm_up: row.get(0)?,
            samples: row.get(1)?,
            wall_ns: row.get::<_, i64>(2)?.cast_unsigned(),
            cpu_ns: row.get::<_, Option<i64>>(3)?.map(i64::cast_unsigned),
            line_ns: row.get::<_, Option<i64>>(4)?.map(i64::cast_unsigned),
        })
    })?;
    Ok(spans.collect::<rusqlite::Result<_>>()?)
}

/// Hands on the samples of an invocation in the order of execution, one by one.
pub(super) fn each_sample(
    connection: &Connection,
    invocation_id: i64,
    mut take: impl FnMut(usize, SampleRecord) -> Result<()>,
) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT warm_up, batch, elapsed_ns, ops, answer, work, user_us, sys_us,
                events, p50_ns, p99_ns, p999_ns, max_ns, load
         FROM sample WHERE invocation = ?1 ORDER BY position",
    )?;
    let samples = statement.query_and_then([invocation_id], |row| {
        let number = |column: usize| {
            Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(i64::cast_unsigned))
        };
        Ok::<_, anyhow::Error>(SampleRecord {
            warm_up: row.get(0)?,
            batch: row.get(1)?,
            elapsed_ns: number(2)?.unwrap_or(0),
            ops: number(3)?.unwrap_or(0),
            answer: row.get(4)?,
            work: number(5)?,
            user_us: number(6)?,
            sys_us: number(7)?,
            distribution: match (number(8)?, number(9)?, number(10)?, number(11)?, number(12)?) {
                (Some(events), Some(p50_ns), Some(p99_ns), Some(p999_ns), Some(max_ns)) => {
                    Some(DistributionRecord { events, p50_ns, p99_ns, p999_ns, max_ns })
                }
                _ => None,
            },
            load: match row.get::<_, Option<String>>(13)? {
                Some(text) => Some(from_json(&text)?),
                None => None,
            },
        })
    })?;
    samples.enumerate().try_for_each(|(index, sample)| take(index, sample?))
}
