//! Bundles that somebody has forged, with a hash that is right.

use palio::machine;
use palio::plan::{block_order, salt};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Fake, Finished, Project};

/// A project with one run of a good and a bad contender, and what its bundle holds.
pub(crate) fn raced() -> (Project, Value) {
    let project = Project::good_and(Fake::new("bad").fault("wrong-answer:4").from(2));
    project.race().set("--reference", "good").run().exits(0);
    let run = project.stored();
    let cells: Vec<_> = super::cells(&run);
    let who = |cell: &&Value| (cell["contender"].clone(), cell["shadow"] == true);
    let all: Vec<_> = cells.iter().map(who).collect();
    assert_eq!(all, [(json!("bad"), false), (json!("good"), false), (json!("good"), true)]);
    (project, run)
}

/// The bundle of a run, as `palio export` would have written it.
pub(crate) fn bundle(run: &Value) -> String {
    let run = run.to_string();
    let hash: String =
        Sha256::digest(run.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{{\"format\":\"palio-bundle\",\"version\":1,\"sha256\":\"{hash}\",\"run\":{run}}}\n")
}

pub(crate) fn import(project: &Project, text: &str) -> Finished {
    project.write("forged.json", text);
    project.palio(&["import", "forged.json", "--db", "empty.db"]).run()
}

/// What is forged: values at places, where `null` takes an optional field away.
pub(crate) type Edits = Vec<(&'static str, Value)>;

pub(crate) fn one(place: &'static str, value: impl Into<Value>) -> Edits {
    vec![(place, value.into())]
}

/// Another number of blocks, and the command that says so.
pub(crate) fn blocks(run: &Value, count: u64) -> Edits {
    let command = run["header"]["command"].as_str().unwrap();
    let at = command.find("--blocks ").unwrap() + "--blocks ".len();
    let rest = at + command[at..].find(' ').unwrap();
    let command = format!("{}{count}{}", &command[..at], &command[rest..]);
    vec![("/header/blocks", count.into()), ("/header/command", command.into())]
}

pub(crate) fn forge(run: &Value, edits: &Edits) -> Value {
    let mut forged = run.clone();
    for (place, value) in edits {
        let (parent, field) = place.rsplit_once('/').unwrap();
        let parent = forged.pointer_mut(parent).unwrap_or_else(|| panic!("no {parent}"));
        match parent {
            Value::Object(fields) => drop(fields.insert(field.to_owned(), value.clone())),
            Value::Array(list) => list[field.parse::<usize>().unwrap()] = value.clone(),
            _ => panic!("{place} is no place"),
        }
    }
    assert_ne!(forged, *run, "{edits:?} changes nothing");
    forged
}

/// Another seed, as if it had been raced with it: whoever forges with care.
pub(crate) fn reseed(run: &mut Value, seed: u64) {
    run["header"]["seed"] = seed.into();
    run["header"]["command"] = format!("palio run --seed {seed}").into();
    for (race, described) in run["races"].as_array_mut().unwrap().iter_mut().enumerate() {
        let cells = described["cells"].as_array_mut().unwrap();
        let count = cells.len();
        for (cell, described) in cells.iter_mut().enumerate() {
            for invocation in described["invocations"].as_array_mut().unwrap() {
                let block = invocation["block"].as_u64().map(|block| block as u32);
                invocation["salt"] = salt(seed, race, cell, block, 0).into();
                let order = block.map(|block| block_order(seed, race, block, count));
                let at = order.and_then(|order| order.iter().position(|other| *other == cell));
                invocation["position"] = at.unwrap_or_default().into();
            }
        }
    }
}

/// Gives the machine of a run the fingerprint of what is said of it.
pub(crate) fn fingerprint(run: &mut Value) -> String {
    let machine = &mut run["header"]["machine"];
    let due = machine::fingerprint(&serde_json::from_value(machine.clone()).unwrap());
    machine["fingerprint"] = due.clone().into();
    due
}
