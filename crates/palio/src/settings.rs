//! Parameters of a workload and knobs of a contender, as a person writes them.

use std::collections::BTreeMap;

/// Parameters or knobs by name, as they are passed with `--set`.
pub type Settings = BTreeMap<String, String>;

/// Renders settings the way a person writes them: `n=27` or `reader=first,x=1`.
pub fn settings_text(settings: &Settings) -> String {
    settings.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}
