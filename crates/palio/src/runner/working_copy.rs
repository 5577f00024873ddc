//! What a repository says of a working copy.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::build::output_of;

/// The commit that `folder` is at, and `-dirty` where files in it differ; `None` outside of a git
/// repository.
pub fn state(folder: &Path) -> Option<String> {
    let git = |words: &[&str]| {
        let command: Vec<String> =
            ["git"].iter().chain(words).map(|&word| word.to_owned()).collect();
        output_of(&command, folder, &AtomicBool::new(false)).ok()
    };
    let commit = git(&["rev-parse", "--short=7", "HEAD"])?;
    let is_clean = git(&["status", "--porcelain", "--", "."])?.trim().is_empty();
    Some(format!("{}{}", commit.trim(), if is_clean { "" } else { "-dirty" }))
}
