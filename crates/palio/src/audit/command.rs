//! The rules for commands: that of a cell starts what was raced, and that of a run repeats it.
//! Which program is started differs between machines; what it is asked for does not.

use super::{Checked, Fault, check};
use crate::contender::{Kind, Track};
use crate::printable::printable;
use crate::record::{CellRecord, ContenderRecord, Header, RaceRecord};
use crate::runner::excerpt::shown;

/// The verbs of Palio that race.
const VERBS: [&str; 3] = ["run", "sweep", "scale"];

/// That a cell's command asks for the work of its race, as [`Plan`](crate::plan::Plan) makes it;
/// `family` is the name that contenders know, where the catalogue tells.
pub(super) fn check_cell_command(
    race: &RaceRecord,
    cell: &CellRecord,
    contender: &ContenderRecord,
    family: Option<&str>,
) -> Checked {
    check_words(race, cell, contender, family)
        .map_err(|reason| Fault::new("command", format!("{reason}: it is not what was raced")))
}

fn check_words(
    race: &RaceRecord,
    cell: &CellRecord,
    contender: &ContenderRecord,
    family: Option<&str>,
) -> Result<(), String> {
    let Some(at) = cell.command.iter().position(|word| word == "--workload") else {
        // What cannot take part is asked for nothing.
        return if cell.outcome.is_left_aside() {
            Ok(())
        } else {
            Err("it has no `--workload`".to_owned())
        };
    };
    let mut words = cell.command[at + 1..].iter().map(String::as_str);
    let said = words.next().unwrap_or_default();
    let is_workload = match family {
        Some(family) => said == family,
        None => race
            .workload
            .strip_prefix(said)
            .is_some_and(|case| !said.is_empty() && (case.is_empty() || case.starts_with('/'))),
    };
    if !is_workload {
        return Err(format!(
            "`--workload {}`, and the race is one of {}",
            shown(said),
            race.workload
        ));
    }
    let (option, number) = (words.next(), words.next().unwrap_or_default());
    let threads = number.parse::<u32>().ok().filter(|_| option == Some("--threads"));
    // A baseline has the threads that it can use.
    let is_right = |threads: u32| match contender.kind {
        Kind::Baseline => (1..=race.threads).contains(&threads),
        _ => threads == race.threads,
    };
    if !threads.is_some_and(is_right) {
        let number = threads.map_or_else(|| "no number".to_owned(), |threads| threads.to_string());
        return Err(format!("{number} behind `--threads`, and the race has {}", race.threads));
    }
    let mut settings = Vec::new();
    while let Some(option) = words.next() {
        let pair = words.next().and_then(|pair| pair.split_once('='));
        let Some(pair) = pair.filter(|_| option == "--set") else {
            return Err(format!("{:?} where settings stand as `--set KEY=VALUE`", shown(option)));
        };
        settings.push(pair);
    }
    let due = race.params.iter().chain(&cell.variant).map(|(key, value)| (&**key, &**value));
    let due: Vec<(&str, &str)> = due.collect();
    let Some(knobs) = settings.strip_prefix(&due[..]) else {
        return Err(format!(
            "settings {}, and the race has {} first",
            shown(&text(&settings)),
            shown(&text(&due))
        ));
    };
    if let Some((key, _)) = knobs.iter().find(|(key, _)| due.iter().any(|(known, _)| known == key))
    {
        return Err(format!("{} is set twice", shown(key)));
    }
    if let Some(named) = named_knobs(contender)
        && named != text(knobs)
    {
        return Err(format!(
            "settings {} of its own, and its name says {}",
            shown(&text(knobs)),
            shown(&named)
        ));
    }
    if !knobs.is_empty() && contender.track == Track::Stock {
        let knobs = shown(&text(knobs));
        return Err(format!(
            "it turns {knobs}, which is tuning, and its track is {}",
            Track::Stock
        ));
    }
    Ok(())
}

/// `a=1@b=2`, or `none`.
fn text(settings: &[(&str, &str)]) -> String {
    let each: Vec<String> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if each.is_empty() { "none".to_owned() } else { each.join("@") }
}

/// The knobs that its name tells, as [`text`] has them; `None` where it races under another name.
pub(super) fn named_knobs(contender: &ContenderRecord) -> Option<String> {
    let rest = contender.id.strip_prefix(&contender.base)?;
    let release = contender.release.as_ref().map(|release| format!("@{release}"));
    let rest = rest.strip_prefix(release.as_deref().unwrap_or_default())?;
    if rest.is_empty() {
        return Some("none".to_owned());
    }
    rest.strip_prefix('@').map(str::to_owned)
}

/// That the command which is said to repeat a run is one of Palio's, and says what the header says.
/// Whoever pastes it into a shell must get nothing else.
pub(super) fn check_run_command(header: &Header) -> Checked {
    let wrong = |reason: String| Err(Fault::new("command", reason));
    let Some(words) = shell_words(&header.command) else {
        let command = shown(&header.command);
        return wrong(format!("\"{command}\" is no command as Palio writes one"));
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.first() != Some(&"palio") || !words.get(1).is_some_and(|verb| VERBS.contains(verb)) {
        return wrong(format!("\"{}\" does not race", shown(&header.command)));
    }
    let facts = [
        ("--seed", header.seed.to_string(), true),
        ("--blocks", header.blocks.to_string(), false),
        ("--preset", header.preset.to_string(), false),
    ];
    for (option, is_due, always) in facts {
        let at = words.iter().rposition(|word| *word == option);
        let said = at.map(|at| words.get(at + 1).copied().unwrap_or_default());
        let is_right = said.map_or(!always, |said| said == is_due);
        check(is_right, "command", || {
            let said =
                said.map_or_else(|| format!("no {option}"), |s| format!("{option} {}", shown(s)));
            format!("it says {said}, and the header says {is_due}")
        })?;
    }
    let samples = words.iter().rposition(|word| *word == "--samples");
    let samples = samples.map(|at| words.get(at + 1).copied().unwrap_or_default().to_owned());
    let due = header.limits.samples.map(|samples| samples.to_string());
    check(samples == due, "command", || {
        let said = |samples: Option<String>| samples.unwrap_or_else(|| "none".to_owned());
        let (said, due) = (said(samples.map(|said| shown(&said))), said(due));
        format!("it says --samples {said}, and the header says {due}")
    })?;
    let is_cold = words.contains(&"--cold");
    check(is_cold == header.limits.cold, "command", || {
        format!("with --cold or not: {is_cold}, and the header says {}", header.limits.cold)
    })
}

/// The words of a line as [`shell_line`](crate::report::summary::shell_line) writes them; `None` if
/// a shell could do anything with it but start a program with these.
fn shell_words(line: &str) -> Option<Vec<String>> {
    if line.chars().any(char::is_control) || printable(line) != line {
        return None;
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
    let (mut words, mut word, mut is_quoted) = (Vec::new(), None::<String>, false);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            ' ' if !is_quoted => words.push(word.take()?),
            '\\' if !is_quoted => {
                // So a quote stands in a quoted word: `'it'\''s'`.
                chars.next().filter(|&escaped| escaped == '\'')?;
                word.get_or_insert_default().push('\'');
            }
            c if is_quoted || plain(c) => word.get_or_insert_default().push(c),
            _ => return None,
        }
    }
    words.push(word.filter(|_| !is_quoted)?);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::summary::shell_line;

    #[test]
    fn a_line_is_read_as_it_is_written() {
        let words = ["palio", "run", "it's", "'", "", "a b", "$(x)", "x\\", "''", "ü"];
        let words = words.map(str::to_owned).to_vec();
        assert_eq!(shell_words(&shell_line(&words)), Some(words));
    }

    #[test]
    fn what_a_shell_would_do_more_with_is_no_command() {
        for line in [
            "",
            "palio run; rm x",
            "palio run $(rm x)",
            "palio run `rm x`",
            "palio run\nrm x",
            "palio run  x",
            "palio run 'x",
            "palio run 'x'$(rm x)'y'",
            "palio run 'x' > 'y",
            "palio run 'x'\\''",
            "palio run \\x",
            "palio run #x",
            "palio run \u{202e}x",
        ] {
            assert_eq!(shell_words(line), None, "{line:?}");
        }
    }
}
