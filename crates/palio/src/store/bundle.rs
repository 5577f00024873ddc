//! Bundles: a run as one JSON file, compressed or not, to carry it to another machine. Its schema
//! is `docs/bundle.schema.json`.

use std::io::{BufReader, Read, Write};

use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::record::RunRecord;

pub(super) const FORMAT: &str = "palio-bundle";
pub(super) const VERSION: u32 = 1;

/// A bundle with more bytes than this, unpacked, is neither read nor written: a small file that
/// unpacks to any size must not fill the disk.
pub(super) const BYTES_MAX: u64 = 512 << 20;

/// What every gzip file begins with, and no JSON.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// How a bundle is written, in this order; it is read in any.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Bundle", deny_unknown_fields)]
struct Envelope<'a> {
    format: &'a str,
    version: u32,
    /// SHA-256 of the bytes of `run`, as they stand in the file, unpacked.
    sha256: &'a str,
    #[schemars(with = "RunRecord")]
    run: &'a RunRecord,
}

/// The hash of what is written, and its length.
#[derive(Default)]
struct Hasher {
    hash: Sha256,
    bytes: u64,
}

impl Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub(super) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The JSON Schema of a bundle, as `docs/bundle.schema.json` publishes it.
pub fn schema() -> String {
    let schema = schemars::schema_for!(Envelope);
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

/// Writes a run as a bundle.
///
/// # Errors
/// It cannot be written; a number in it is not finite, which JSON cannot say; or it is too large to
/// be read again.
pub fn export(run: &RunRecord, mut out: impl Write) -> Result<()> {
    // Twice, since the hash comes first, and the text is not kept.
    let mut hasher = Hasher::default();
    serde_json::to_writer(&mut hasher, run).context("cannot write the run as JSON")?;
    if hasher.bytes > BYTES_MAX {
        bail!("the bundle would have more than {} MiB: thin it (--thin)", BYTES_MAX >> 20);
    }
    let sha256 = hex(hasher.hash);
    let envelope = Envelope { format: FORMAT, version: VERSION, sha256: &sha256, run };
    // As an error of the file's, which may be a pipe that nobody reads any more.
    serde_json::to_writer(&mut out, &envelope).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// The same, compressed with gzip; the same run gives the same bytes.
///
/// # Errors
/// Those of [`export`].
pub fn export_packed(run: &RunRecord, out: impl Write) -> Result<()> {
    let mut packer = GzEncoder::new(out, Compression::best());
    export(run, std::io::BufWriter::new(&mut packer))?;
    packer.finish().context("cannot compress the bundle")?.flush()?;
    Ok(())
}

/// The text of a bundle, compressed or not, whatever its file is called.
pub(super) struct Unpacked<'a> {
    pub(super) text: Box<dyn Read + 'a>,
    pub(super) is_packed: bool,
}

impl<'a> Unpacked<'a> {
    pub(super) fn of(mut file: impl Read + 'a) -> Result<Self> {
        let mut head = Vec::new();
        file.by_ref().take(GZIP.len() as u64).read_to_end(&mut head)?;
        let is_packed = head == GZIP;
        let file = std::io::Cursor::new(head).chain(file);
        let text: Box<dyn Read> = if is_packed {
            Box::new(BufReader::new(MultiGzDecoder::new(file)))
        } else {
            Box::new(BufReader::new(file))
        };
        Ok(Self { text, is_packed })
    }
}
