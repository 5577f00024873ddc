//! What the documents of actors say: the example runs, and each line of the guide has its test.

#![cfg(all(unix, not(loom), not(trefoil_tsan)))]

use std::process::Command;

/// `cargo test` of the whole package builds the examples beforehand. For this file alone, build
/// them first: `cargo build -p trefoil --examples`.
#[test]
fn the_example_survives_its_panics() {
    let mut program = std::env::current_exe().unwrap();
    program.pop();
    program.pop();
    program.push("examples");
    program.push("supervised_actors");
    let output = Command::new(&program).arg("1000").output();
    let output = output.unwrap_or_else(|error| {
        panic!("{}, which `cargo build --examples` makes: {error}", program.display())
    });
    // 5040 by 1, 2, … 9, a hundred times. (By 9, too, it leaves no rest.)
    let sum: u64 = 100 * (1..=9).map(|by| 5040 / by).sum::<u64>();
    let expected = format!("sum {sum}, failures 100, restarts: tally 0, divider 100\n");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(output.status.success());
}

#[test]
fn each_line_of_the_guide_names_its_test() {
    let page = include_str!("../src/actor/from_erlang.rs");
    let (_, lines) = page.split_once("# The same").unwrap();
    let mut items: Vec<String> = Vec::new();
    for line in lines.lines().map(|line| line.trim_start_matches("//!").trim()) {
        if line.starts_with("- ") {
            items.push(line.to_owned());
        } else if let Some(item) = items.last_mut() {
            item.extend([" ", line]);
        }
    }
    let untested: Vec<_> = items.iter().filter(|item| !item.split('`').any(is_test)).collect();
    assert_eq!(untested, [""; 0]);
    assert!(items.len() > 30, "{}", items.len());
    // And each test that is named is there.
    let named: Vec<_> = page
        .split('`')
        .filter(|word| word.starts_with("actor") || word.starts_with("fiber"))
        .collect();
    let missing: Vec<_> = named
        .iter()
        .filter(|word| word.split_once("::").is_some_and(|(_, rest)| rest.len() > 20))
        .filter(|word| !is_test(word))
        .collect();
    assert_eq!(missing, [&""; 0]);
}

/// Whether the word is `file::function` of these tests.
fn is_test(word: &str) -> bool {
    let Some((file, function)) = word.rsplit_once("::") else { return false };
    let path = format!("{}/tests/{}.rs", env!("CARGO_MANIFEST_DIR"), file.replace("::", "/"));
    let function = format!("fn {function}(");
    std::fs::read_to_string(path).is_ok_and(|text| text.contains(&function))
}
