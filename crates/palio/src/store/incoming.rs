//! Runs that come in as bundles. A bundle is read once, sample by sample, and written as it is
//! read; when all of it is there, it is held against the rules. All of it is one transaction, of
//! which nothing is left if anything is wrong.

mod meter;
mod parts;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};
use serde::Deserializer;
use serde::de::{self, MapAccess, Visitor};

use super::bundle::{BYTES_MAX, FORMAT, Unpacked, VERSION};
use super::{
    Store, from_json, insert_cell, insert_invocation, insert_race, insert_sample, json, migrations,
    reading,
};
use crate::audit::{Audit, Fault, Here};
use crate::record::{
    CellRecord, ContenderRecord, Header, InvocationRecord, RaceRecord, RunRecord, SampleRecord,
};
use crate::runner::excerpt;
use meter::Meter;
use parts::{One, Reading};

/// The run of races whose header was not read yet.
const UNNAMED: &str = "";

impl Store {
    /// An empty store that ends with the process.
    ///
    /// # Errors
    /// SQLite has no memory.
    pub fn in_memory() -> Result<Self> {
        let mut connection = Connection::open_in_memory()?;
        connection.pragma_update(None, "foreign_keys", true)?;
        migrations::migrate(&mut connection)?;
        Ok(Self { connection, path: PathBuf::from("memory") })
    }

    /// Stores the run of a bundle, compressed or not, and returns its id. What it says must be what
    /// is known `here`; or its warnings say where it is not.
    ///
    /// # Errors
    /// It is no bundle, or damaged, or of another version; its content is not what its hash says;
    /// there is a run of that id; or something in it cannot be true, which the message names by its
    /// place. Nothing of it is stored then.
    pub fn import(&mut self, bundle: impl Read, here: Option<&Here>) -> Result<String> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // What belongs to something is written before it: only then is the whole of that known.
        transaction.pragma_update(None, "defer_foreign_keys", true)?;
        let id = read(bundle, &transaction)?;
        audit(&transaction, &id, here)?;
        transaction.commit().context("it cannot be stored")?;
        Ok(id)
    }
}

/// Reads a bundle into the tables and returns the id of its run.
fn read(bundle: impl Read, transaction: &Transaction<'_>) -> Result<String> {
    let Unpacked { text, is_packed } = Unpacked::of(bundle)?;
    let meter = Meter::new(BYTES_MAX);
    let reading = Reading::new(Tables::new(transaction), &meter);
    let mut text = meter.read(text);
    let result = {
        let mut json = serde_json::Deserializer::from_reader(&mut text);
        json.deserialize_map(Envelope { reading: &reading }).and_then(|hash| {
            json.end()?;
            Ok(hash)
        })
    };
    let claimed = match result {
        Ok(claimed) => claimed,
        Err(error) => {
            if let Some(reason) = meter.refusal() {
                bail!("{reason}");
            }
            // What is damaged reads like something misspelt first: the end of it has a checksum.
            let rest = || std::io::copy(&mut text.text.take(BYTES_MAX), &mut std::io::sink());
            if is_packed && (error.is_io() || rest().is_err()) {
                return Err(error).context("it is compressed with gzip, and damaged or cut off");
            }
            return Err(reading.explain(error));
        }
    };
    let hash = meter.hash();
    if hash != claimed {
        bail!(
            "this bundle was changed after it was written: its content has the hash {hash}, not {}",
            excerpt::shown(&claimed)
        );
    }
    reading.into_tables().id.context("this is not a bundle of Palio: it has no run")
}

/// The outermost object, which gives the hash that it claims.
struct Envelope<'r, 't> {
    reading: &'r Reading<'t>,
}

impl<'de> Visitor<'de> for Envelope<'_, '_> {
    type Value = String;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a bundle of Palio, which is a JSON object in UTF-8")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<String, A::Error> {
        let (mut format, mut version, mut sha256, mut run) = (None, None, None, false);
        let known = |format: Option<&String>, version: Option<u32>| -> Result<(), A::Error> {
            if format.is_some_and(|format| format != FORMAT) {
                let format = excerpt::shown(format.map_or("", String::as_str));
                let reason = anyhow!("this is not a bundle of Palio: its format is \"{format}\"");
                return Err(self.reading.refuse(reason));
            }
            if let Some(version) = version.filter(|&version| version != VERSION) {
                return Err(self.reading.refuse(anyhow!(
                    "this bundle has version {version}, and this Palio reads {VERSION}: update Palio"
                )));
            }
            Ok(())
        };
        while let Some(key) = map.next_key::<String>()? {
            let again = match key.as_str() {
                "format" => format.replace(map.next_value::<String>()?).is_some(),
                "version" => version.replace(map.next_value::<u32>()?).is_some(),
                "sha256" => sha256.replace(map.next_value::<String>()?).is_some(),
                "run" if !run => {
                    run = true;
                    map.next_value_seed(One::<RunRecord>::the(self.reading))?;
                    false
                }
                "run" => true,
                _ => {
                    let known = &["format", "version", "sha256", "run"];
                    return Err(de::Error::unknown_field(&excerpt::shown(&key), known));
                }
            };
            if again {
                return Err(de::Error::custom(format_args!("`{key}` is there twice")));
            }
            known(format.as_ref(), version)?;
        }
        if format.is_none() || version.is_none() || !run {
            return Err(de::Error::custom("it has no `format`, `version` or `run`"));
        }
        sha256.ok_or_else(|| de::Error::missing_field("sha256"))
    }
}

/// Where what is read is written to.
pub(super) struct Tables<'t> {
    transaction: &'t Transaction<'t>,
    race: i64,
    cell: i64,
    invocation: i64,
    /// Where the first invocation of a block says that it counts, or that it was repeated.
    disturbed: BTreeMap<(u32, bool), usize>,
    /// How many invocations the race has.
    invocations: usize,
    id: Option<String>,
}

impl<'t> Tables<'t> {
    fn new(transaction: &'t Transaction<'t>) -> Self {
        let (race, cell, invocation, invocations) = (0, 0, 0, 0);
        Self {
            transaction,
            race,
            cell,
            invocation,
            disturbed: BTreeMap::new(),
            invocations,
            id: None,
        }
    }

    /// The id that the next row of a table gets.
    fn next(&self, table: &str) -> Result<i64> {
        let sql = format!("SELECT coalesce(max(id), 0) + 1 FROM {table}");
        Ok(self.transaction.prepare_cached(&sql)?.query_row([], |row| row.get(0))?)
    }

    fn begin_race(&mut self) -> Result<()> {
        self.disturbed.clear();
        self.invocations = 0;
        self.race = self.next("race")?;
        Ok(())
    }

    fn begin_cell(&mut self) -> Result<()> {
        self.cell = self.next("cell")?;
        Ok(())
    }

    fn begin_invocation(&mut self) -> Result<()> {
        self.invocation = self.next("invocation")?;
        Ok(())
    }

    fn sample(&self, position: u32, sample: &SampleRecord) -> Result<()> {
        insert_sample(self.transaction, self.invocation, position, sample)
    }

    fn invocation(&mut self, invocation: &InvocationRecord) -> Result<()> {
        insert_invocation(self.transaction, self.cell, invocation)?;
        if let Some(block) = invocation.block {
            let place = (block, invocation.disturbed);
            self.disturbed.entry(place).or_insert(self.invocations);
        }
        self.invocations += 1;
        self.is_next(self.invocation)
    }

    fn cell(&self, position: u32, cell: &CellRecord) -> Result<()> {
        insert_cell(self.transaction, self.race, position, cell)?;
        self.is_next(self.cell)
    }

    fn race(&mut self, position: u32, race: &RaceRecord) -> Result<()> {
        insert_race(self.transaction, UNNAMED, position, race)?;
        self.is_next(self.race)?;
        // The rule is the race's, so that the mark of an invocation is not stored.
        for &(block, disturbed) in self.disturbed.keys() {
            let repeated =
                race.blocks.iter().any(|judged| judged.block == block && judged.repeated);
            ensure!(
                repeated == disturbed,
                "races[{position}].blocks: block {block} {} repeated, and an invocation says that it is{} disturbed",
                if repeated { "was" } else { "was not" },
                if disturbed { "" } else { " not" }
            );
        }
        Ok(())
    }

    fn run(&mut self, header: &Header, contenders: &[ContenderRecord]) -> Result<()> {
        let known = "SELECT 1 FROM run WHERE id = ?1";
        let exists = self.transaction.query_row(known, [&header.id], |_| Ok(())).optional()?;
        ensure!(exists.is_none(), "the run {} is there already", header.id);
        self.transaction.execute(
            "INSERT INTO run (id, header, contenders) VALUES (?1, ?2, ?3)",
            params![header.id, json(header)?, json(&contenders)?],
        )?;
        let name = "UPDATE race SET run = ?1 WHERE run = ?2";
        self.transaction.execute(name, [header.id.as_str(), UNNAMED])?;
        self.id = Some(header.id.clone());
        Ok(())
    }

    /// What was written before this row belongs to it.
    fn is_next(&self, expected: i64) -> Result<()> {
        let id = self.transaction.last_insert_rowid();
        ensure!(id == expected, "the database gave a row the number {id}, not {expected}");
        Ok(())
    }
}

/// Holds a run that was read against the rules.
fn audit(transaction: &Transaction<'_>, id: &str, here: Option<&Here>) -> Result<()> {
    let sql = "SELECT header, contenders FROM run WHERE id = ?1";
    let (header, contenders): (String, String) =
        transaction.query_row(sql, [id], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut header: Header = from_json(&header)?;
    let contenders: Vec<ContenderRecord> = from_json(&contenders)?;
    let mut audit = Audit::new(&header, &contenders, here).map_err(refused)?;
    let sql = "SELECT id, description FROM race WHERE run = ?1 ORDER BY position";
    let mut statement = transaction.prepare(sql)?;
    let mut rows = statement.query([id])?;
    let mut number = 0;
    while let Some(row) = rows.next()? {
        let race: RaceRecord = from_json(&row.get::<_, String>(1)?)?;
        audit_race(transaction, &mut audit, row.get(0)?, &race, &format!("races[{number}]"))?;
        number += 1;
    }
    // One that was carried on from another place has been told already.
    let mut told = audit.end().map_err(refused)?;
    told.retain(|warning| !header.warnings.contains(warning));
    if !told.is_empty() {
        header.warnings.extend(told);
        let update = "UPDATE run SET header = ?2 WHERE id = ?1";
        transaction.execute(update, params![id, json(&header)?])?;
    }
    Ok(())
}

fn audit_race(
    transaction: &Transaction<'_>,
    audit: &mut Audit<'_>,
    race_id: i64,
    race: &RaceRecord,
    place: &str,
) -> Result<()> {
    let (ids, cells): (Vec<i64>, Vec<CellRecord>) =
        reading::cell_rows(transaction, race_id)?.into_iter().unzip();
    let mut of_race = audit.race(race, &cells).map_err(|fault| refused(fault.within(place)))?;
    for (index, (id, cell)) in ids.into_iter().zip(&cells).enumerate() {
        let place = format!("{place}.cells[{index}]");
        let invocations = reading::invocation_rows(transaction, id)?;
        let mut of_cell = of_race.cell(cell);
        for (index, (id, invocation)) in invocations.iter().enumerate() {
            let place = format!("{place}.invocations[{index}]");
            let within = |fault: Fault| refused(fault.within(&place));
            let mut samples = of_cell.invocation(invocation).map_err(within)?;
            reading::each_sample(transaction, *id, |index, sample| {
                samples.sample(index, &sample).map_err(within)
            })?;
            of_cell.end_of_invocation(samples.end().map_err(within)?);
            audit.witnessed(race, invocation).map_err(within)?;
        }
        of_race.end_of_cell(of_cell).map_err(|fault| refused(fault.within(&place)))?;
    }
    of_race.end().map_err(|fault| refused(fault.within(place)))
}

/// With what to do about it.
fn refused(fault: Fault) -> Error {
    let advice = if fault.is_of_here() { "" } else { ": export the run again where it was raced" };
    anyhow!("{fault}. Nothing was imported{advice}")
}
