//! Bad input is refused with a message that names the thing and the fix, before anything is raced.

use crate::support::{Fake, Project};

fn project() -> Project {
    Project::good_and(Fake::new("better"))
}

#[test]
fn an_unknown_suite_offers_the_nearest() {
    let run = project().palio(&["run", "quik"]).run();
    run.fails_with(&["no suite \"quik\"", "did you mean \"quick\"", "palio list suites"]);
}

#[test]
fn an_unknown_workload_offers_the_nearest() {
    let run = project().palio(&["run", "-w", "ecko"]).run();
    run.fails_with(&["no workload \"ecko\"", "did you mean \"echo\"", "palio list workloads"]);
}

#[test]
fn a_workload_in_the_place_of_a_suite_and_the_reverse_are_told() {
    let suite = project().palio(&["run", "echo"]).run();
    suite.fails_with(&["\"echo\" is a workload", "`palio run -w echo`"]);
    let workload = project().palio(&["run", "-w", "quick"]).run();
    workload.fails_with(&["\"quick\" is a suite", "`palio run quick`"]);
}

#[test]
fn an_unknown_contender_offers_the_nearest() {
    for command in
        [["run", "-c", "goood"], ["verify", "-c", "goood"], ["build", "goood", "--strict"]]
    {
        let run = project().palio(&command).run();
        run.fails_with(&[
            "no contender \"goood\"",
            "did you mean \"good\"",
            "palio list contenders",
        ]);
    }
}

#[test]
fn a_name_like_nothing_offers_nothing() {
    let run = project().palio(&["run", "-w", "zzzzzz"]).run();
    assert!(!run.stderr.contains("did you mean"), "{}", run.stderr);
}

#[test]
fn nothing_is_stored_of_a_refused_run() {
    let project = project();
    project.palio(&["run", "-w", "ecko"]).run().exits(2);
    project.palio(&["run", "-t", "0"]).run().exits(2);
    assert!(!project.database().exists());
}

#[test]
fn a_malformed_contender_toml_names_file_and_line() {
    let project = project();
    let text = project.read("contenders/rust/good/contender.toml").replace("kind = ", "kind: ");
    project.write("contenders/rust/good/contender.toml", &text);
    for command in [&["run"][..], &["list", "contenders"], &["doctor"], &["build"]] {
        let run = project.palio(command).run();
        run.fails_with(&["contenders/rust/good/contender.toml is malformed", "line 4"]);
    }
}

#[test]
fn an_unknown_key_in_contender_toml_names_file_line_and_key() {
    let project = project();
    let text = project.read("contenders/rust/good/contender.toml").replace("licence", "license");
    project.write("contenders/rust/good/contender.toml", &text);
    let run = project.palio(&["list", "contenders"]).run();
    run.fails_with(&["good/contender.toml is malformed", "line 6", "unknown field `license`"]);
}

#[test]
fn a_wrong_type_in_contender_toml_names_file_and_line() {
    let project = project();
    let text =
        project.read("contenders/rust/good/contender.toml").replace("\"async\"", "\"asink\"");
    project.write("contenders/rust/good/contender.toml", &text);
    let run = project.palio(&["list", "contenders"]).run();
    run.fails_with(&["good/contender.toml is malformed", "line 4", "asink", "`async`"]);
}

#[test]
fn an_id_with_a_blank_is_refused() {
    let project = project();
    let text = project
        .read("contenders/rust/good/contender.toml")
        .replace("id = \"good\"", "id = \"so good\"");
    project.write("contenders/rust/good/contender.toml", &text);
    project.palio(&["list", "contenders"]).run().fails_with(&[
        "good/contender.toml",
        "\"so good\"",
        "letters",
    ]);
}

#[test]
fn two_contenders_of_one_id_are_both_named() {
    let project = project();
    let text = project.read("contenders/rust/good/contender.toml");
    project.write("contenders/c/good/contender.toml", &text);
    let run = project.palio(&["run"]).run();
    run.fails_with(&["\"good\"", "contenders/rust/good", "contenders/c/good"]);
}

#[test]
fn an_empty_command_is_refused() {
    let project = project();
    let mut text = project.read("contenders/rust/good/contender.toml");
    let start = text.find("command = ").unwrap();
    text.replace_range(start.., "command = []\n");
    project.write("contenders/rust/good/contender.toml", &text);
    project.palio(&["run"]).run().fails_with(&["good/contender.toml", "`run.command` is empty"]);
}

#[test]
fn a_malformed_workload_names_file_and_line() {
    let project = project();
    let text = project.read("workloads/echo.toml").replace("unit =", "unti =");
    project.write("workloads/echo.toml", &text);
    for command in [&["run"][..], &["list"], &["verify"]] {
        let run = project.palio(command).run();
        run.fails_with(&["workloads/echo.toml is malformed", "line 6", "unti"]);
    }
}

#[test]
fn a_workload_that_says_too_little_names_file_case_and_key() {
    let project = project();
    let text = project.read("workloads/echo.toml").replace("answer = \"42\", ", "");
    project.write("workloads/echo.toml", &text);
    project.palio(&["list"]).run().fails_with(&[
        "workloads/echo.toml",
        "in the case echo",
        "`answer`",
    ]);
}

#[test]
fn a_file_that_is_not_text_is_named() {
    let project = project();
    std::fs::write(project.path("workloads/echo.toml"), b"\xff\xfe").unwrap();
    project.palio(&["list"]).run().fails_with(&["workloads/echo.toml", "UTF-8"]);
}

#[test]
fn a_suite_with_an_unknown_workload_names_file_suite_and_workload() {
    let project = project();
    let text = project.read("workloads/suites.toml").replace("\"tally\"", "\"taly\"");
    project.write("workloads/suites.toml", &text);
    let run = project.palio(&["list"]).run();
    run.fails_with(&["suites.toml", "suite \"quick\"", "\"taly\"", "did you mean \"tally\""]);
}

#[test]
fn a_suite_of_suites_names_those_above_it() {
    let project = project();
    let text = project.read("workloads/suites.toml");
    let with = |suites: &str| {
        let more = "[[suite]]\nid = \"all\"\ntitle = \"All\"\npreset = \"quick\"\n";
        project.write("workloads/suites.toml", &format!("{text}\n{more}{suites}\n"));
        project.palio(&["list", "workloads", "--suite", "all"]).run()
    };
    with("suites = [\"quick\"]").exits(0).prints(&["tally"]);
    with("suites = [\"quik\"]").fails_with(&[
        "suites.toml",
        "suite \"all\"",
        "\"quik\"",
        "did you mean \"quick\"",
        "it must stand above",
    ]);
    with("suites = [\"all\"]").fails_with(&["suite \"all\"", "it must stand above"]);
    with("suites = []").fails_with(&["suite \"all\"", "names anything"]);
}

#[test]
fn numbers_of_threads_that_make_no_sense_are_refused() {
    for (threads, reason) in [
        ("0", "0 threads cannot be raced: use 1 to 4096"),
        ("1,0", "0 threads"),
        ("1000000", "1000000 threads cannot be raced: use 1 to 4096"),
        ("99999999999999", "--threads"),
        ("many", "--threads"),
        ("1.5", "--threads"),
        ("", "--threads"),
    ] {
        let run = project().palio(&["run", "--threads", threads]).run();
        run.fails_with(&[reason]);
    }
    project().palio(&["verify", "--threads", "0"]).run().fails_with(&["0 threads cannot be raced"]);
}

#[test]
fn a_catalogue_with_a_million_threads_is_refused() {
    let project = project();
    let text = project.read("workloads/echo.toml").replace("threads = [1]", "threads = [1000000]");
    project.write("workloads/echo.toml", &text);
    project
        .palio(&["run", "-w", "echo"])
        .run()
        .fails_with(&["echo", "1000000 threads cannot be raced"]);
}

#[test]
fn numbers_out_of_range_name_their_option() {
    for option in ["--blocks", "--budget", "--timeout", "--memory"] {
        project().palio(&["run", option, "0"]).run().fails_with(&[option, "0 is not in"]);
    }
}

#[test]
fn a_most_of_blocks_below_their_least_is_refused() {
    let project = project();
    let race = |more: &[&str]| {
        let args = ["run", "-w", "echo", "--until-floor", "50%", "--blocks-max", "4"];
        project.palio(&[&args[..], more].concat()).run()
    };
    race(&["--blocks", "8"]).fails_with(&[
        "--blocks-max 4 is below --blocks 8",
        "--blocks-max 8 or more",
        "--blocks 4 or fewer",
    ]);
    // The blocks of the preset count too.
    race(&[]).fails_with(&["--blocks-max 4 is below the 5 blocks"]);
    assert!(!project.database().exists());
    race(&["--blocks", "4", "--budget", "5", "--warm-up", "0"]).exits(0);
}

#[test]
fn a_contender_does_not_race_under_the_name_of_another() {
    let project = project().with(Fake::new("other"));
    for name in ["other", "OTHER"] {
        let run = project.palio(&["run", "-c", &format!("{name}=good")]).run();
        run.fails_with(&["good would race under the name of another contender, other"]);
    }
    let run = project.palio(&["run", "-c", "good=good@dial=7"]).run();
    run.fails_with(&["under the name of good itself"]);
    let run = project.race().set("--contender", "good,again=good@dial=7").run().exits(0).json();
    let again = run["contenders"].as_array().unwrap().iter().find(|c| c["id"] == "again").unwrap();
    assert_eq!(again["notes"], "Raced as again: good@dial=7.");
    for format in ["markdown", "html"] {
        let text = project.palio(&["report", "latest", "--format", format]).run().exits(0).stdout;
        assert!(text.contains("Raced as again: good@dial=7."), "{format}");
    }
}

#[test]
fn a_contender_chosen_twice_needs_another_name() {
    let run = project().palio(&["run", "-c", "good", "-c", "good"]).run();
    run.fails_with(&["good is chosen twice", "again=good"]);
}

#[test]
fn a_second_name_must_be_one() {
    for name in ["=good", "a b=good", "\u{1b}[31m=good"] {
        project().palio(&["run", "-c", name]).run().fails_with(&["is no name", "letters"]);
    }
}

#[test]
fn a_knob_that_is_not_there_lists_those_that_are() {
    let run = project().palio(&["run", "-c", "good@dail=1"]).run();
    run.fails_with(&["good has no knob \"dail\"", "dial"]);
    let run = project().palio(&["run", "-c", "good@dial"]).run();
    run.fails_with(&["\"dial\"", "write good@KNOB=VALUE"]);
    for empty in ["good@", "good@dial=7@", "good@@dial=7", "other=good@"] {
        let run = project().palio(&["run", "-c", empty]).run();
        run.fails_with(&["\"\" in", empty, "write good@KNOB=VALUE"]);
    }
}

#[test]
fn a_reference_that_does_not_race_is_refused() {
    let run = project().palio(&["run", "-c", "good", "--reference", "better"]).run();
    run.fails_with(&["reference \"better\"", "add -c better"]);
}

#[test]
fn a_folder_that_is_no_project_is_refused() {
    let project = project();
    let root = project.path("state");
    project.palio(&["list", "--root", root.to_str().unwrap()]).run().fails_with(&[
        root.to_str().unwrap(),
        "`workloads` and `contenders`",
        "--root",
    ]);
}

#[test]
fn a_race_that_nobody_can_run_says_so() {
    let project = Project::new().with(Fake::new("bad").fault("describe-exit"));
    project.palio(&["run"]).run().fails_with(&[
        "bad will not race",
        "none of these contenders",
        "palio doctor",
    ]);
}

#[test]
fn a_report_that_cannot_be_written_is_told_before_anything_is_raced() {
    let project = project();
    project.write("file", "");
    for (html, said) in [
        ("state", "cannot write state, which is a folder: name a file in it, such as state/"),
        ("file/below/it.html", "cannot write file/below/it.html: file is no folder"),
    ] {
        project.race().set("--html", html).run().fails_with(&[said]);
        let scale = project.palio(&["scale", "echo", "--html", html]).run();
        scale.fails_with(&[said]);
    }
    assert!(!project.database().exists());
    let race = |html| project.race().set("--html", html).run().exits(0);
    race("new/folder/it.html");
    assert!(project.read("new/folder/it.html").contains("</html>"));
    race("file");
    assert!(project.read("file").contains("</html>"));
    race("/dev/null");
}

#[test]
fn a_cpu_budget_apart_from_its_value_is_told_how_to_write_it() {
    for (args, said) in [
        (&["run", "--cpu-budget", "both"][..], "write --cpu-budget=both"),
        (&["run", "quick", "--cpu-budget", "only"], "write --cpu-budget=only"),
        (&["scale", "echo", "--cpu-budget", "both"], "write --cpu-budget=both"),
    ] {
        project().palio(args).run().fails_with(&[said]);
    }
    // Alone it has a meaning, and what follows is a suite.
    let run = project().palio(&["run", "--cpu-budget", "quik"]).run();
    run.fails_with(&["no suite \"quik\""]);
}

#[test]
fn an_unknown_command_or_option_is_refused() {
    project().palio(&["rnu"]).run().exits(2);
    project().palio(&["run", "--fast"]).run().exits(2);
}

#[test]
fn a_run_or_cell_that_is_not_stored_is_named() {
    let project = project();
    let database = project.database();
    let database = database.to_str().unwrap();
    project.palio(&["report"]).run().fails_with(&["no run", database, "palio run"]);
    project.race().run().exits(0);
    project.palio(&["report", "nope"]).run().fails_with(&["no run \"nope\"", "palio list runs"]);
    project
        .palio(&["show", "ecko", "good"])
        .run()
        .fails_with(&["no race of \"ecko\"", "did you mean \"echo\""]);
    project
        .palio(&["show", "echo", "goood"])
        .run()
        .fails_with(&["\"goood\"", "did you mean \"good\""]);
    let other = project.palio(&["show", "echo", "good", "-t", "9"]).run();
    other.fails_with(&["raced echo on other numbers of threads: 1"]);
}

#[test]
fn verify_finds_a_wrong_answer_and_exits_with_1() {
    let project = Project::good_and(Fake::new("bad").fault("wrong-answer"));
    let run = project.palio(&["verify", "-t", "1"]).run().exits(1);
    run.prints(&["FAIL bad", "it answered 41", "keeps the contract"]);
    let run = project.palio(&["verify", "-t", "1", "-c", "good", "--json"]).run().exits(0);
    assert_eq!(run.json().as_array().unwrap().len(), 4);
}

#[test]
fn verify_does_not_pass_where_it_verifies_nothing() {
    let project = Project::good_and(Fake::new("better").fault("describe-alone"));
    let toml = project.read("contenders/rust/better/contender.toml");
    let toml = toml.replace("[\"echo\", \"tally\", \"raise\", \"fib\"]", "[\"echo\"]");
    project.write("contenders/rust/better/contender.toml", &toml);
    let verify = |args: &[&str]| project.palio(&[&["verify"], args].concat()).run();
    let why = "better: does not run tally";
    verify(&["-w", "tally", "-c", "better"]).fails_with(&["nothing to verify", why]);
    // Others do not make up for it.
    let named = verify(&["-w", "tally", "-c", "good,better"]);
    named.fails_with(&["nothing of better would be verified", why, "leave it out"]);
    let named = verify(&["-w", "echo,tally", "-c", "better"]);
    named.fails_with(&["nothing of tally would be verified", why, "leave it out"]);
    // Whom nobody named is skipped, and so is a row of a contender that has others.
    verify(&["-w", "tally"]).exits(0).prints(&["ok   good"]);
    verify(&["-w", "echo,tally", "-c", "good,better"]).exits(0).prints(&["ok   better"]);
}

#[test]
fn a_strict_build_exits_with_1_if_anyone_is_not_ready() {
    let project = Project::good_and(Fake::new("bad").fault("describe-exit"));
    project.palio(&["build"]).run().exits(0).prints(&["bad", "I would rather not say"]);
    project.palio(&["build", "--strict"]).run().exits(1);
    project.palio(&["build", "--strict", "good"]).run().exits(0);
}

#[test]
fn a_contender_whose_library_no_package_brings_is_nobodys_failure() {
    let project = Project::good_and(Fake::new("frob").toml(
        r#"
        [[requires]]
        name = "frobnicator"
        probe = ["no-such-probe"]
        install = "v1.2 of https://frob.example"
        optional = true
        [[requires]]
        name = "frobc"
        probe = ["no-such-probe"]
        debian = ["frobc"]
        install = "https://frob.example"
        "#,
    ));
    let says = ["not built", "frobnicator is missing (v1.2 of https://frob.example)"];
    project.palio(&["build", "--strict"]).run().exits(0).prints(&says);
    project.palio(&["build", "frob"]).run().exits(1).prints(&says);
    let setup = |id: &[&str]| project.palio(&[&["setup", "--dry-run"], id].concat()).run().exits(0);
    setup(&[]).prints(&["No Debian package is missing", "frob: frobnicator"]);
    setup(&["frob"]).prints(&["apt-get install", "frobc", "frob: frobnicator"]);
    setup(&["-c", "frob"]).prints(&["apt-get install", "frobc"]);
    let doctor = project.palio(&["doctor"]).run().exits(0).prints(&[says[1]]);
    assert!(!doctor.stdout.contains("`palio setup` installs"), "{}", doctor.stdout);
}

#[test]
fn a_variable_that_decides_a_build_reaches_probe_and_build_and_renews_both() {
    let project = Project::new().with(Fake::new("frob").toml(
        r#"
        [[requires]]
        name = "a frobnicator"
        probe = ["sh", "-c", "test -d \"$FROB_PATH\" && test -f '{dir}/contender.toml'"]
        install = "name its prefix in FROB_PATH"
        [build]
        environment = ["FROB_PATH"]
        commands = [["sh", "-c", "echo \"$FROB_PATH\" >> '{target}/built'"]]
        "#,
    ));
    let (one, two) = (project.path("contenders"), project.path("state"));
    let build = |path: &std::path::Path| project.palio(&["build", "frob"]).env("FROB_PATH", path);
    project.palio(&["build", "frob"]).run().exits(1).prints(&["name its prefix in FROB_PATH"]);
    build(&one).run().exits(0).prints(&["built"]).complains(&["building frob"]);
    let again = build(&one).run().exits(0);
    assert_eq!(again.prints(&["up to date"]).stderr, "");
    build(&two).run().exits(0).prints(&["built"]);
    let lines = format!("{}\n{}\n", one.display(), two.display());
    assert_eq!(project.read("target/rust/built"), lines);
    project.palio(&["build", "frob"]).run().exits(1).prints(&["a frobnicator is missing"]);
}
