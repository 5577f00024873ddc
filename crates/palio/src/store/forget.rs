//! The end of stored runs.

use anyhow::{Result, bail};

use super::Store;

impl Store {
    /// Deletes these runs with everything of them: all of it or, if one of them cannot go, nothing.
    ///
    /// # Errors
    /// One of them is a baseline, or is not there any more; or the database cannot be written.
    pub fn forget(&mut self, ids: &[String]) -> Result<()> {
        let baselines = self.baselines()?;
        for id in ids {
            let names: Vec<&str> = baselines
                .iter()
                .filter(|known| known.run == *id)
                .map(|known| known.name.as_str())
                .collect();
            if let [first, ..] = names[..] {
                bail!(
                    "the run {id} is the baseline {}, and nothing was forgotten: first \
                     `palio baseline remove {first}`, or `palio baseline save {first} RUN --replace`",
                    names.join(", ")
                );
            }
        }
        self.write("the end of a run", |transaction| {
            for id in ids {
                // The rest of a run goes with it. A baseline may have been saved meanwhile.
                let gone = transaction.execute(
                    "DELETE FROM run WHERE id = ?1 AND id NOT IN (SELECT run FROM baseline)",
                    [id],
                )?;
                if gone == 0 {
                    bail!("the run {id} was forgotten or became a baseline meanwhile");
                }
            }
            Ok(())
        })
    }
}
