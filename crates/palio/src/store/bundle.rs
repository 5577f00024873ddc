//! Bundles: a run as one JSON file, compressed or not, to carry it to another machine. Its schema
//! is `docs/bundle.schema.json`.

use std::io::{Read, Write};

use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::contender::is_name;
use crate::record::{CellRecord, RunRecord};

const FORMAT: &str = "palio-bundle";
const VERSION: u32 = 1;

/// A bundle with more bytes than this, unpacked, is neither read nor written: a small file that
/// unpacks to any size must not take the memory away. Reading takes about three times as much.
const BYTES_MAX: u64 = 512 << 20;

/// What every gzip file begins with, and no JSON.
const GZIP: [u8; 2] = [0x1f, 0x8b];

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Bundle")]
struct Envelope<'a> {
    format: String,
    version: u32,
    /// SHA-256 of the bytes of `run`, as they stand in the file, unpacked.
    sha256: String,
    // Borrowed, since the run is nearly the whole file.
    #[serde(borrow)]
    #[schemars(with = "RunRecord")]
    run: &'a RawValue,
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
/// A number in it is not finite, which JSON cannot say; or it is too large to be read again.
pub fn export(run: &RunRecord) -> Result<String> {
    let run = serde_json::value::to_raw_value(run).context("cannot write the run as JSON")?;
    let (format, sha256) = (FORMAT.into(), sha256(run.get()));
    let envelope = Envelope { format, version: VERSION, sha256, run: &run };
    let text = serde_json::to_string(&envelope)? + "\n";
    if text.len() as u64 > BYTES_MAX {
        bail!("the bundle would have more than {} MiB: thin it (--thin)", BYTES_MAX >> 20);
    }
    Ok(text)
}

/// Compresses a bundle with gzip; the same text gives the same bytes.
///
/// # Errors
/// The compressor fails, which it does not in memory.
pub fn pack(bundle: &str) -> Result<Vec<u8>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bundle.as_bytes()).context("cannot compress the bundle")?;
    packer.finish().context("cannot compress the bundle")
}

/// Reads the text of a bundle from a file, compressed or not, whatever its name is.
///
/// # Errors
/// It cannot be read, is damaged, is not UTF-8, or has more than 512 MiB unpacked.
pub fn unpack(file: impl Read) -> Result<String> {
    unpack_at_most(BYTES_MAX, file)
}

fn unpack_at_most(most: u64, mut file: impl Read) -> Result<String> {
    let mut head = Vec::new();
    file.by_ref().take(GZIP.len() as u64).read_to_end(&mut head)?;
    let packed = head == GZIP;
    let file = head.chain(file);
    let mut bytes = Vec::new();
    if packed {
        MultiGzDecoder::new(file)
            .take(most + 1)
            .read_to_end(&mut bytes)
            .context("it is compressed with gzip, and damaged or cut off")?;
    } else {
        file.take(most + 1).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > most {
        let unpacks = if packed { "unpacks to" } else { "has" };
        bail!("it {unpacks} more than {} MiB, the most that a bundle may have", most >> 20);
    }
    String::from_utf8(bytes).ok().context("it is not a bundle of Palio: it is not UTF-8 text")
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
    // A report must not conceal that it was made of a part of the samples.
    let has_gaps = |cell: &CellRecord| cell.invocations.iter().any(|i| i.dropped.is_some());
    if run.header.thinned.is_none() && run.races.iter().flat_map(|r| &r.cells).any(has_gaps) {
        bail!("the run in this bundle lacks samples, and does not say that it was thinned");
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    /// The whole chain of reasons.
    fn refusal(most: u64, file: &[u8]) -> String {
        format!("{:#}", unpack_at_most(most, file).unwrap_err())
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        for text in ["", "x", "{}", &"Siena, Piazza del Campo\n".repeat(5_000)] {
            assert_eq!(unpack(&pack(text).unwrap()[..]).unwrap(), text);
            assert_eq!(unpack(text.as_bytes()).unwrap(), text);
        }
        let text = "the same ".repeat(1_000);
        assert_eq!(pack(&text).unwrap(), pack(&text).unwrap());
        assert!(pack(&text).unwrap().len() < text.len() / 20);
    }

    #[test]
    fn what_was_cut_off_or_altered_is_refused() {
        let text: String = (0..2_000).map(|n| format!("{} ", n * n)).collect();
        let packed = pack(&text).unwrap();
        for length in [2, 9, 10, 11, packed.len() / 2, packed.len() - 8, packed.len() - 1] {
            assert!(refusal(1 << 20, &packed[..length]).contains("damaged or cut off"), "{length}");
        }
        // The last eight bytes are the checksum and the length.
        for place in [packed.len() / 2, packed.len() - 8, packed.len() - 1] {
            let mut altered = packed.clone();
            altered[place] ^= 0x55;
            assert!(refusal(1 << 20, &altered).contains("damaged or cut off"), "{place}");
        }
        let more = [&packed[..], b"and more"].concat();
        assert!(refusal(1 << 20, &more).contains("damaged or cut off"));
    }

    /// A reader that counts what was taken from it.
    struct Counted<'a> {
        rest: &'a [u8],
        taken: &'a std::cell::Cell<usize>,
    }

    impl Read for Counted<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let taken = self.rest.read(into)?;
            self.taken.set(self.taken.get() + taken);
            Ok(taken)
        }
    }

    #[test]
    fn a_small_file_does_not_become_a_large_one() {
        // Members may follow one another, so that no trailer tells the size beforehand.
        let member = pack(&"0".repeat(MIB)).unwrap();
        assert_eq!(unpack_at_most(4 << 20, &member.repeat(4)[..]).unwrap().len(), 4 * MIB);
        let bomb = member.repeat(64);
        let taken = std::cell::Cell::new(0);
        let counted = Counted { rest: &bomb, taken: &taken };
        let error = format!("{:#}", unpack_at_most(4 << 20, counted).unwrap_err());
        assert!(error.contains("unpacks to more than 4 MiB"), "{error}");
        // It stopped there: one more buffer may have been read.
        assert!(taken.get() < member.len() * 5 + (64 << 10), "{}", taken.get());
        assert!(refusal(1 << 20, "0".repeat(MIB + 1).as_bytes()).contains("has more than 1 MiB"));
    }
}
