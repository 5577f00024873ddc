//! What a repository says of a working copy.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use sha2::{Digest, Sha256};

use super::build::{hex, output_of};

/// Of a larger file that git does not know, size and time stand for the content: it is no source.
const READ_BYTES: u64 = 1 << 20;

/// The commit that `folder` is at and, where files in it differ, `-dirty-` and a digest of what
/// differs: 3fa2b1c-dirty-09c41e7. `None` outside of a git repository.
pub fn state(folder: &Path) -> Option<String> {
    let git = |words: &[&str]| {
        let command: Vec<String> =
            ["git"].iter().chain(words).map(|&word| word.to_owned()).collect();
        output_of(&command, folder, &AtomicBool::new(false)).ok()
    };
    let commit = git(&["rev-parse", "--short=7", "HEAD"])?;
    let commit = commit.trim();
    let status = git(&["status", "--porcelain", "--", "."])?;
    if status.trim().is_empty() {
        return Some(commit.to_owned());
    }
    let changed = git(&["diff", "--name-only", "--relative", "-z", "HEAD", "--", "."])?;
    let unknown = git(&["ls-files", "--others", "--exclude-standard", "-z", "--", "."])?;
    let mut hash = Sha256::new();
    // What has a name that is no text, and files of other repositories within, are in this alone.
    hash.update(&status);
    for (names, reads_all) in [(changed, true), (unknown, false)] {
        for name in names.split_terminator('\0') {
            hash.update(format!("\0{name}\0"));
            content(&folder.join(name), reads_all, &mut hash);
        }
    }
    Some(format!("{commit}-dirty-{:.7}", hex(hash)))
}

fn content(path: &Path, reads_all: bool, hash: &mut Sha256) {
    // A file that is gone has no content, and a name that leads elsewhere is what it says.
    let Ok(metadata) = fs::symlink_metadata(path) else { return };
    if let Ok(target) = fs::read_link(path) {
        hash.update(target.to_string_lossy().as_bytes());
    } else if metadata.is_file() && (reads_all || metadata.len() <= READ_BYTES) {
        hash.update(fs::read(path).unwrap_or_default());
    } else {
        hash.update(format!("{}\0{:?}", metadata.len(), metadata.modified().ok()));
    }
}
