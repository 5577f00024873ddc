//! Variants: contenders that share the sources of another one.

use std::fs;

use crate::support::{Fake, Project, entry};

/// A contender whose build writes the program that is then started, so that a lost build shows.
fn project() -> Project {
    let project = Project::new().with(Fake::new("good"));
    let path = "contenders/rust/good/contender.toml";
    let text = project.read(path);
    let line = text.lines().find(|line| line.starts_with("command = ")).unwrap();
    let exec = line.trim_start_matches("command = [").trim_end_matches(']');
    let exec = exec.replace("\", \"", "' '").replace('"', "'");
    let exec = exec.replacen("'good'", "'good{features}'", 1);
    let script = format!(
        r#"mkdir -p '{{target}}' && printf '%s\n' '#!/bin/sh' "exec {exec} \"\$@\"" > '{{target}}/good' && chmod +x '{{target}}/good'"#
    );
    let build = format!("[build]\ncommands = [[\"sh\", \"-c\", '''{script}''']]\n");
    let variant = "[[variant]]\nid = \"big\"\ntrack = \"tuned\"\nfeatures = [\"-big\"]\n\
                   notes = \"Bigger.\"\nreadme = \"README.md#big\"\n";
    let text = text.replace(line, "command = [\"{target}/good\"]");
    project.write(path, &format!("{text}{build}{variant}"));
    project
}

#[test]
fn a_variant_is_built_verified_and_raced_beside_its_contender() {
    let project = project();
    let built = project.palio(&["build", "good", "good-big"]).run().exits(0);
    built.prints(&["good ", "good-big "]);
    let target = project.path("target/rust");
    let [base, variant] = ["good", "variants/big/good"].map(|name| target.join(name));
    assert_ne!(fs::read_to_string(base).unwrap(), fs::read_to_string(variant).unwrap());

    project.palio(&["verify", "-c", "good,good-big"]).run().exits(0);
    let report = project.race().set("--contender", "good,good-big").run().exits(0).json();
    assert_eq!(entry(&report, "good")["track"], "stock");
    assert_eq!(entry(&report, "good-big")["track"], "tuned");
    assert_eq!(entry(&report, "good-big")["outcome"], "ok");
    let notes: Vec<_> =
        report["contenders"].as_array().unwrap().iter().map(|c| &c["notes"]).collect();
    assert!(notes.contains(&&"Bigger.".into()), "{notes:?}");
}

#[test]
fn a_tuned_variant_races_only_when_it_is_named() {
    let project = project();
    let report = project.race().run().exits(0).json();
    let contenders = report["contenders"].as_array().unwrap();
    assert_eq!(contenders.len(), 1, "{contenders:#?}");
    project.palio(&["list", "contenders"]).run().exits(0).prints(&["good-big", "tuned", ", big"]);
    project.palio(&["doctor"]).run().exits(0).prints(&["good-big"]);
    project.palio(&["build", "good-bgi"]).run().fails_with(&["did you mean \"good-big\""]);
}

#[test]
fn a_variant_may_not_take_the_id_of_a_contender() {
    let project = project().with(Fake::new("good-big"));
    project.palio(&["list", "contenders"]).run().fails_with(&[
        "two contenders call themselves \"good-big\"",
        "good/contender.toml (its variant \"big\")",
        "good-big/contender.toml",
        "another `id`",
    ]);
}

#[test]
fn a_malformed_variant_is_named_with_its_file() {
    let project = project();
    let path = "contenders/rust/good/contender.toml";
    let text = project.read(path).replace("features = [\"-big\"]", "features = []");
    project.write(path, &text);
    project.palio(&["run"]).run().fails_with(&[
        "good/contender.toml is malformed",
        "in the variant \"big\"",
        "name what differs",
    ]);
}
