//! One command races everybody with another allocator, and the report names it.

use crate::support::{Fake, Project, assert_has};
use serde_json::Value;

const VARIANT: &str = "[[variant]]\nid = \"mimalloc\"\ntrack = \"tuned\"\n\
    allocator = \"mimalloc\"\nfeatures = [\"mimalloc\"]\nreadme = \"README.md#mimalloc\"\n";

/// Gives `id` a variant with mimalloc, whose executable says that it has `said`.
fn with_variant(project: Project, id: &str, said: &str) -> Project {
    let project = project.with(Fake::new(id));
    let path = format!("contenders/rust/{id}/contender.toml");
    let text = project.read(&path);
    let line = text.lines().find(|line| line.starts_with("command = ")).unwrap();
    let words = line.trim_start_matches("command = [").trim_end_matches(']').replace("\", \"", " ");
    let exec = words.trim_matches('"').replacen(&format!("--id {id} "), "--id \"$id\" ", 1);
    let script = format!(
        "id={id} flags=allocator=system; test -z \"{{features}}\" || {{ id={id}-mimalloc; flags={said}; }}; \
         mkdir -p \"{{target}}\"; \
         printf \"%s\\n\" \"#!/bin/sh\" \"id=$id\" \"exec {} --fault describe-flags:$flags \\\"\\$@\\\"\" > \"{{target}}/{id}\"; \
         chmod +x \"{{target}}/{id}\"",
        exec.replace("\"$id\"", "$id")
    );
    let build = format!("[build]\ncommands = [[\"sh\", \"-c\", '''{script}''']]\n");
    let text = text.replace(line, &format!("command = [\"{{target}}/{id}\"]"));
    project.write(&path, &format!("{text}{build}{VARIANT}"));
    project
}

/// `good` and `fine` have a variant, `gopher` brings its own allocator, and `plain` has the
/// system's alone.
fn project() -> Project {
    let project = with_variant(Project::new(), "good", "allocator=mimalloc-2.0.9");
    let project = with_variant(project, "fine", "allocator=mimalloc-2.0.9");
    let project = project.with(Fake::new("gopher").fault("describe-flags:allocator=own"));
    let path = "contenders/rust/gopher/contender.toml";
    let text = project.read(path).replace("kind = ", "allocator = \"own\"\nkind = ");
    project.write(path, &text);
    project.with(Fake::new("plain"))
}

fn outcomes(report: &Value) -> Vec<(String, String)> {
    let entries = report["races"][0]["entries"].as_array().unwrap();
    let word = |entry: &Value, key: &str| entry[key].as_str().unwrap().to_owned();
    let mut all: Vec<_> =
        entries.iter().map(|e| (word(e, "contender"), word(e, "outcome"))).collect();
    all.sort();
    all
}

/// Under the name of the stock contender, nobody would know what raced.
#[test]
fn a_contender_by_its_own_name_is_named_after_its_variant() {
    let project = project();
    let race = project.race().set("--allocator", "mimalloc").set("-c", "good=good,gopher");
    let report = race.run().exits(0).json();
    let expected = [("good-mimalloc", "ok"), ("gopher", "ok")];
    assert_eq!(outcomes(&report), expected.map(|(id, word)| (id.to_owned(), word.to_owned())));
}

#[test]
fn everybody_races_with_it_who_can_and_the_others_are_named() {
    let project = project();
    let report = project.race().set("--allocator", "mimalloc").run().exits(0).json();
    let expected = [
        ("fine-mimalloc", "ok"),
        ("good-mimalloc", "ok"),
        ("gopher", "ok"),
        ("plain", "unsupported"),
    ];
    let expected = expected.map(|(id, outcome)| (id.to_owned(), outcome.to_owned()));
    assert_eq!(outcomes(&report), expected);
    assert!(report["run"]["command"].as_str().unwrap().contains("--allocator mimalloc"));

    let allocators = "mimalloc 2.0.9 for all but gopher (the runtime's own)";
    let absent = "it has no variant with mimalloc as its allocator";
    for format in ["terminal", "markdown", "html"] {
        let args = ["report", "latest", "--format", format];
        let text = project.palio(&args).run().exits(0).stdout;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("&#39;", "'");
        assert_has(&text, &[allocators, absent]);
    }
    let args = ["report", "latest", "--headline", "good-mimalloc"];
    let text = project.palio(&args).run().exits(0).stdout;
    assert_has(&text, &[&format!("Allocator: {allocators}.")]);
}

#[test]
fn named_contenders_become_their_variants_with_their_knobs() {
    let project = project();
    let race = project.race().set("--allocator", "mimalloc");
    let report = race.set("-c", "good@dial=1,gopher,fine-mimalloc").run().exits(0).json();
    let ids: Vec<String> = outcomes(&report).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["fine-mimalloc", "good-mimalloc@dial=1", "gopher"]);

    let race = project.race().set("--allocator", "mimalloc").set("-c", "good,plain");
    race.run().fails_with(&["plain cannot be raced with --allocator mimalloc", "no variant"]);
    let race = project.race().set("--allocator", "system").set("-c", "good-mimalloc");
    race.run().fails_with(&["good-mimalloc cannot be raced with --allocator system"]);
}

#[test]
fn a_contender_and_its_variant_do_not_race_under_one_name() {
    let project = project();
    let race = || project.race().set("--allocator", "mimalloc");
    let twice = race().set("-c", "good,good-mimalloc").run();
    twice.fails_with(&["good-mimalloc is chosen twice", "again=good-mimalloc"]);
    let again = race().set("-c", "good,again=good-mimalloc").run().exits(0).json();
    let ids: Vec<String> = outcomes(&again).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["again", "good-mimalloc"]);
    // Where nobody is named, one of two that race by default is enough.
    let path = "contenders/rust/good/contender.toml";
    project.write(path, &project.read(path).replace("track = \"tuned\"", "track = \"stock\""));
    let ids: Vec<String> =
        outcomes(&race().run().exits(0).json()).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["fine-mimalloc", "good-mimalloc", "gopher", "plain"]);
}

#[test]
fn the_systems_is_the_rule() {
    let project = project();
    let asked = project.race().set("--allocator", "system").run().exits(0).json();
    let silent = project.race().run().exits(0).json();
    assert_eq!(outcomes(&asked), outcomes(&silent));
    assert_eq!(outcomes(&asked).len(), 4);
    let text = project.palio(&["report", "latest", "--format", "terminal"]).run().exits(0).stdout;
    assert_has(&text, &["allocator: the system's for all but", "plain (not stated)"]);
}

#[test]
fn an_allocator_that_nobody_has_is_refused() {
    let project = project();
    let race = project.race().set("--allocator", "jemalloc");
    race.run().fails_with(&["no contender has the allocator \"jemalloc\"", "mimalloc, system"]);
}

#[test]
fn an_executable_with_another_allocator_does_not_race() {
    let project = with_variant(Project::new(), "liar", "allocator=system").with(Fake::new("good"));
    let built = project.palio(&["build", "liar-mimalloc"]).run().exits(1);
    built.prints(&[
        "liar-mimalloc",
        "not built",
        "\"mimalloc\" by its contender.toml",
        "\"system\"",
    ]);
}

#[test]
fn a_variant_that_lacks_its_allocator_says_what_brings_it() {
    let project = project();
    let path = "contenders/rust/good/contender.toml";
    let text = project.read(path)
        + "[[variant.requires]]\nname = \"mimalloc\"\nprobe = [\"false\"]\n\
           debian = [\"libmimalloc-dev\"]\ninstall = \"from its makers\"\n";
    project.write(path, &text);
    let built = project.palio(&["build", "good", "good-mimalloc"]).run().exits(1);
    built.prints(&["good ", "built: fake", "good-mimalloc", "apt-get install libmimalloc-dev"]);
}

#[test]
fn a_variant_of_what_readers_know_is_the_reference() {
    let project = with_variant(Project::new(), "tokio-mt", "allocator=mimalloc-2.0.9");
    let project = with_variant(project, "aaa", "allocator=mimalloc-2.0.9");
    let report = project.race().set("--allocator", "mimalloc").run().exits(0).json();
    assert_eq!(report["races"][0]["reference"], "tokio-mt-mimalloc");
}
