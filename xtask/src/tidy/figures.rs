//! Numbers that were measured stand in marked places, so that each has a bundle that it follows
//! from, or a source.

use super::{Fault, Rule};
use crate::results;

/// The documents that a reader takes results from.
const DOCUMENTS: &[&str] = &["README.md", "crates/trefoil/README.md", "docs/results/README.md"];

/// What makes a number a time or a ratio.
const UNITS: &[&str] = &["ns", "µs", "μs", "us", "ms", "s", "%", "×"];

pub(super) const MARKERS: Rule =
    Rule { name: "markers of results", faults: results::faults, exceptions: &[] };

pub(super) const RULE: Rule = Rule {
    name: "measured numbers outside of marked places",
    faults: |tree| {
        let mut faults = Vec::new();
        for file in tree.files.iter().filter(|file| DOCUMENTS.contains(&file.name.as_str())) {
            let text = results::place::unmarked(&file.text);
            for (number, line) in (1..).zip(text.lines()) {
                if let Some(figure) = figure(line) {
                    let reason = format!(
                        "the number {figure} has no bundle: put it into a marked place, or mark it as a quotation"
                    );
                    faults.push(Fault::at(&file.name, number, reason));
                }
            }
        }
        faults
    },
    exceptions: &[],
};

/// The first number of a line that looks measured: a decimal fraction, or one with a unit of time,
/// a percent sign or a sign of multiplication. Versions (`1.2.3`), names (`x86-64`) and counts are
/// none.
fn figure(line: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let before = &line[..line.len() - rest.len() + start];
        let token = &rest[start..];
        let end = token.find(|c| !is_part(c)).unwrap_or(token.len());
        let number = token[..end].trim_end_matches(['.', ',']);
        let after = &token[number.len()..];
        if !is_part_of_a_name(before) && (is_fraction(number) || has_unit(before, after)) {
            return Some(number);
        }
        rest = &token[end..];
    }
    None
}

fn is_part_of_a_name(before: &str) -> bool {
    let last =
        |text: &str| text.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_');
    last(before) || before.strip_suffix(['-', '/']).is_some_and(last)
}

fn is_fraction(number: &str) -> bool {
    number.matches('.').count() == 1
}

fn has_unit(before: &str, after: &str) -> bool {
    let after = after.strip_prefix([' ', '\u{a0}', '\u{202f}']).unwrap_or(after);
    let follows = |unit: &str| {
        after
            .strip_prefix(unit)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
    };
    UNITS.iter().any(|unit| follows(unit)) || before.trim_end().ends_with(['×', '÷'])
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::*;

    #[test]
    fn what_looks_measured_is_found() {
        for (line, number) in [
            ("it is 0.84 of it", "0.84"),
            ("takes 3 ms.", "3"),
            ("takes 120µs,", "120"),
            ("in 11 s.", "11"),
            ("by 15 %", "15"),
            ("is ×3 of", "3"),
            ("a floor of × 2", "2"),
            ("a factor 3×", "3"),
            ("| x | 1,200 ns |", "1,200"),
            ("of 2.", ""),
            ("version 1.2.3 of 2 parts, x86-64, Apache-2.0, p99.9 and 10 seconds", ""),
            ("1 to 4 threads, 317,810 forks, 2026-11-22, 8 bytes", ""),
        ] {
            assert_eq!(figure(line).unwrap_or_default(), number, "{line}");
        }
    }

    #[test]
    fn marked_places_quotations_and_code_are_free() {
        let faults = |text: &str| {
            let tree = Tree::of(&[("README.md", text), ("docs/x.md", "3 ms")]);
            (RULE.faults)(&tree).iter().map(Fault::to_string).collect::<Vec<_>>()
        };
        let free = "a <!-- palio: nio headline go geomean -->0.84<!-- /palio -->, \
                    <!-- palio: quote https://example.org -->3 ms<!-- /palio -->, `5%`\n```\n7 ms\n```\n";
        assert!(faults(free).is_empty(), "{:?}", faults(free));
        let reason =
            "the number 4 has no bundle: put it into a marked place, or mark it as a quotation";
        assert_eq!(faults(&format!("{free}b 4 ms")), [format!("README.md:5: {reason}")]);
    }
}
