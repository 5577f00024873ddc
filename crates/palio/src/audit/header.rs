//! The rules about a run as a whole, and about each of its contenders.

use super::{
    Checked, LABEL_BYTES_MAX, NAME_BYTES_MAX, TITLE_BYTES_MAX, check, label, range, text, timestamp,
};
use crate::contender::is_name;
use crate::machine;
use crate::record::{ContenderRecord, Header};
use crate::runner::excerpt::shown;
use crate::thin;

/// Names that mean something else where a run is asked for.
const RESERVED: [&str; 1] = ["latest"];
/// Without `--blocks-max`, a race may take so many times its blocks.
const EXTENSION_MAX: u32 = 4;
/// The most that `--samples` takes.
const SAMPLES_MAX: u32 = 10_000;
/// The most that `--blocks`, `--blocks-max` and `--repeats-max` take.
const BLOCKS_MAX: u32 = 10_000;
/// The longest text of any other kind: flags, notes, a fact of a machine, the end of an output.
const TEXT_BYTES_MAX: usize = 20_000;

pub(super) fn check_header(header: &Header) -> Checked {
    check(is_name(&header.id), "id", || {
        format!(
            "\"{}\" is no name of a run: it may only have letters, digits, `-`, `_` and `.`, and may not start with \
             `-` or `.`",
            shown(&header.id)
        )
    })?;
    label("id", &header.id, NAME_BYTES_MAX)?;
    let reserved = RESERVED.iter().any(|word| header.id.eq_ignore_ascii_case(word));
    check(!reserved, "id", || {
        format!("{:?} has a meaning of its own where a run is asked for", header.id)
    })?;
    label("suite", &header.suite, NAME_BYTES_MAX)?;
    range("blocks", header.blocks, (1, BLOCKS_MAX))?;
    let limits = header.limits;
    range("budget_ms", limits.budget_ms, (1, 600_000))
        .and_then(|()| {
            range("warm_up_ms", limits.warm_up_ms, (0, if limits.cold { 0 } else { 600_000 }))
        })
        .and_then(|()| limits.samples.map_or(Ok(()), |n| range("samples", n, (1, SAMPLES_MAX))))
        .and_then(|()| range("timeout_ms", limits.timeout_ms, (1_000, 86_400_000)))
        .and_then(|()| range("memory_mib", limits.memory_mib, (1, 1_048_576)))
        .map_err(|fault| fault.within("limits"))?;
    if let Some(goal) = header.until_floor {
        check(goal.ratio > 1.0 && goal.ratio.is_finite(), "ratio", || {
            format!("{} is no noise floor: it is above 1", goal.ratio)
        })
        .and_then(|()| range("blocks_max", goal.blocks_max, (1, EXTENSION_MAX * BLOCKS_MAX)))
        .map_err(|fault| fault.within("until_floor"))?;
    }
    if let Some(rule) = header.repeat {
        check((0.0..=1.0).contains(&rule.outside_max), "outside_max", || {
            format!("{} is no fraction of all CPU time", rule.outside_max)
        })
        .and_then(|()| range("repeats_max", rule.repeats_max, (0, BLOCKS_MAX)))
        .map_err(|fault| fault.within("repeat"))?;
    }
    timestamp("started_at", &header.started_at)?;
    header.finished_at.as_ref().map_or(Ok(()), |text| timestamp("finished_at", text))?;
    for (index, text) in header.resumed_at.iter().enumerate() {
        timestamp(&format!("resumed_at[{index}]"), text)?;
    }
    label("palio_version", &header.palio_version, NAME_BYTES_MAX)?;
    label("machine.fingerprint", &header.machine.fingerprint, NAME_BYTES_MAX)?;
    let machine = &header.machine;
    for (field, zero) in [
        ("cores", machine.cores == Some(0)),
        ("threads_per_core", machine.threads_per_core == Some(0)),
        ("sockets", machine.sockets == Some(0)),
        ("memory_kib", machine.memory_kib == Some(0)),
    ] {
        check(!zero, field, || "0: `null` is what could not be read".to_owned())
            .map_err(|fault| fault.within("machine"))?;
    }
    let facts = [
        ("cpu_model", &machine.cpu_model),
        ("governor", &machine.governor),
        ("turbo", &machine.turbo),
        ("kernel", &machine.kernel),
        ("libc", &machine.libc),
        ("os", &machine.os),
        ("virtualisation", &machine.virtualisation),
        ("cpu_quota", &machine.cpu_quota),
        ("control_groups", &machine.control_groups),
    ];
    for (field, fact) in facts {
        known(field, fact).map_err(|fault| fault.within("machine"))?;
    }
    known("caches", &machine.caches).map_err(|fault| fault.within("machine"))?;
    let due = machine::fingerprint(machine);
    check(machine.fingerprint == due, "machine.fingerprint", || {
        format!(
            "{}, and that of the machine which the header describes is {due}",
            machine.fingerprint
        )
    })?;
    header.thinned.map_or(Ok(()), |most| range("thinned", most, (thin::MOST_MIN, u32::MAX)))
}

pub(super) fn check_contender(contender: &ContenderRecord) -> Checked {
    label("id", &contender.id, LABEL_BYTES_MAX)?;
    label("base", &contender.base, NAME_BYTES_MAX)?;
    check(is_name(&contender.base), "base", || {
        format!("\"{}\" is no name of a contender", shown(&contender.base))
    })?;
    text("name", &contender.name, TITLE_BYTES_MAX)?;
    for (field, told) in [
        ("version", &contender.version),
        ("runtime", &contender.runtime),
        ("toolchain", &contender.toolchain),
        ("flags", &contender.flags),
        ("notes", &contender.notes),
        ("absent", &contender.absent),
    ] {
        told.iter().try_for_each(|told| text(field, told, TEXT_BYTES_MAX))?;
    }
    let is_hash = |text: &String| {
        text.len() == 64
            && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    check(contender.program.as_ref().is_none_or(is_hash), "program", || {
        "it is no SHA-256 in 64 small hexadecimal digits".to_owned()
    })?;
    check(contender.absent.is_none() || contender.version.is_none(), "absent", || {
        "it was not there, and has a version all the same".to_owned()
    })
}

/// As [`text`], where `null` says that nothing is known.
fn known<'t>(place: &str, of: impl IntoIterator<Item = &'t String>) -> Checked {
    of.into_iter().try_for_each(|known| {
        text(place, known, TEXT_BYTES_MAX)?;
        check(known != "-", place, || "\"-\": `null` is what could not be read".to_owned())
    })
}
