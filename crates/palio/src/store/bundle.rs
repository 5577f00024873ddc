//! Bundles: a run as one JSON file, to carry it to another machine. Its schema is
//! `docs/bundle.schema.json`.

use anyhow::{Context, Result, bail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::contender::is_name;
use crate::record::RunRecord;

const FORMAT: &str = "palio-bundle";
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Bundle")]
struct Envelope {
    format: String,
    version: u32,
    /// SHA-256 of the bytes of `run`, as they stand in the file.
    sha256: String,
    #[schemars(with = "RunRecord")]
    run: Box<RawValue>,
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The JSON Schema of a bundle, as `docs/bundle.schema.json` publishes it.
pub fn schema() -> String {
    let schema = schemars::schema_for!(Envelope);
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

/// Writes a run as a bundle.
///
/// # Errors
/// A number in it is not finite, which JSON cannot say.
pub fn export(run: &RunRecord) -> Result<String> {
    let run = serde_json::value::to_raw_value(run).context("cannot write the run as JSON")?;
    let envelope =
        Envelope { format: FORMAT.into(), version: VERSION, sha256: sha256(run.get()), run };
    Ok(serde_json::to_string(&envelope)? + "\n")
}

/// Reads a bundle.
///
/// # Errors
/// It is no bundle, of a newer version, does not have the shape of one (the message names the
/// place), or its content is not what its hash says.
pub fn import(text: &str) -> Result<RunRecord> {
    let envelope: Envelope =
        serde_json::from_str(text).context("this is not a bundle of Palio, or it was cut off")?;
    if envelope.format != FORMAT {
        bail!("this is not a bundle of Palio: its format is {:?}", envelope.format);
    }
    if envelope.version != VERSION {
        bail!(
            "this bundle has version {}, and this Palio reads {VERSION}: update Palio",
            envelope.version
        );
    }
    let hash = sha256(envelope.run.get());
    if hash != envelope.sha256 {
        bail!(
            "this bundle was changed after it was written: its content has the hash {hash}, not {}",
            envelope.sha256
        );
    }
    let run: RunRecord = serde_json::from_str(envelope.run.get())
        .context("the run in this bundle does not have the shape of one")?;
    // Reports are named after the run, so that its id must not lead anywhere else.
    if !is_name(&run.header.id) {
        bail!("the run in this bundle calls itself {:?}, which is no name of a run", run.header.id);
    }
    Ok(run)
}
