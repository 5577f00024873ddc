//! Which floor of Palio may do what.

use super::tree::Tree;
use super::{Fault, Rule};

const PALIO: &str = "crates/palio/src/";

pub(super) const PRINTING: Rule = Rule {
    name: "printing",
    faults: |tree| beyond(tree, "cmd/", &["println!", "print!"], "only cmd/ prints"),
    exceptions: &[],
};

pub(super) const SQL: Rule = Rule {
    name: "SQL",
    faults: |tree| beyond(tree, "store/", &["rusqlite"], "only store/ speaks SQL"),
    exceptions: &[],
};

pub(super) const PROCESSES: Rule = Rule {
    name: "processes",
    faults: |tree| beyond(tree, "runner/", &["Command::new("], "only runner/ starts processes"),
    exceptions: &[],
};

/// What a function of data has no use for.
const EFFECTS: &[&str] = &[
    "Instant",
    "SystemTime",
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "std::thread",
    "File::",
    "OpenOptions",
];

pub(super) const PURITY: Rule = Rule {
    name: "purity",
    faults: |tree| {
        let mut faults = Vec::new();
        for file in tree.rust() {
            let Some(place) = file.name.strip_prefix(PALIO) else { continue };
            if !place.starts_with("stats/") && !place.starts_with("report/") {
                continue;
            }
            for (number, line) in file.code() {
                if let Some(effect) = EFFECTS.iter().find(|&effect| line.contains(effect)) {
                    let reason = format!("stats/ and report/ are functions of data: no {effect}");
                    faults.push(Fault::at(&file.name, number, reason));
                }
            }
        }
        faults
    },
    exceptions: &[],
};

/// Where code outside of `floor` has one of `words`.
fn beyond(tree: &Tree, floor: &str, words: &[&str], reason: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in tree.rust() {
        let Some(place) = file.name.strip_prefix(PALIO) else { continue };
        if place.starts_with(floor) {
            continue;
        }
        let lines = file.code().filter(|(_, line)| words.iter().any(|word| line.contains(word)));
        faults.extend(lines.map(|(number, _)| Fault::at(&file.name, number, reason)));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(rule: Rule, place: &str, line: &str) -> Vec<String> {
        let name = format!("{PALIO}{place}");
        let tree = Tree::of(&[(&name, &format!("fn f() {{\n    {line}\n}}\n"))]);
        (rule.faults)(&tree).iter().map(Fault::to_string).collect()
    }

    #[test]
    fn what_a_floor_may_not_do_is_named_with_its_line() {
        let cases = [
            (PRINTING, "println!();", "cmd", "only cmd/ prints"),
            (SQL, "use rusqlite::Connection;", "store", "only store/ speaks SQL"),
            (PROCESSES, "Command::new(\"ls\");", "runner", "only runner/ starts processes"),
        ];
        for (rule, line, floor, reason) in cases {
            let expected = format!("crates/palio/src/stats/x.rs:2: {reason}");
            assert_eq!(faults(rule, "stats/x.rs", line), [expected]);
            assert!(faults(rule, &format!("{floor}/x.rs"), line).is_empty());
        }
    }

    #[test]
    fn a_clock_or_a_file_in_a_function_of_data_is_named() {
        for effect in ["let t = Instant::now();", "std::fs::read(p)", "use std::time::SystemTime;"]
        {
            assert_eq!(faults(PURITY, "report/html/x.rs", effect).len(), 1, "{effect}");
            assert_eq!(faults(PURITY, "stats/x.rs", effect).len(), 1, "{effect}");
            assert!(faults(PURITY, "runner/x.rs", effect).is_empty());
        }
    }
}
