//! Which allocator each contender of a report had, in one phrase.

use crate::allocator;
use crate::report::model::{Contender, Report};

impl Report {
    /// `mimalloc 2.0.9 for all but go (the runtime's own)`; `None` where nobody says.
    pub(super) fn allocators(&self) -> Option<String> {
        let raced: Vec<&Contender> =
            self.contenders.iter().filter(|contender| contender.absent.is_none()).collect();
        let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
        for contender in raced {
            let name = name(contender);
            match groups.iter_mut().find(|(known, _)| *known == name) {
                Some((_, ids)) => ids.push(&contender.id),
                None => groups.push((name, vec![&contender.id])),
            }
        }
        if groups.iter().all(|(name, _)| name == NOT_STATED) {
            return None;
        }
        // The most common first; of equals, the one that comes first in the report.
        groups.sort_by_key(|(_, ids)| std::cmp::Reverse(ids.len()));
        let (most, rest) = groups.split_first()?;
        let rest: Vec<String> =
            rest.iter().map(|(name, ids)| format!("{} ({name})", ids.join(", "))).collect();
        let but = if rest.is_empty() { "" } else { " but " };
        Some(format!("{} for all{but}{}", most.0, rest.join(", ")))
    }
}

const NOT_STATED: &str = "not stated";

fn name(contender: &Contender) -> String {
    match contender.flags.as_deref().and_then(allocator::said) {
        None => NOT_STATED.to_owned(),
        Some((allocator::SYSTEM, _)) => "the system's".to_owned(),
        Some((allocator::OWN, _)) => "the runtime's own".to_owned(),
        Some((name, Some(version))) => format!("{name} {version}"),
        Some((name, None)) => name.to_owned(),
    }
}
