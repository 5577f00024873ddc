//! What is needed first is built first, and raced before anything else is built.

use crate::support::{Fake, Project, entry};

/// A build that takes `seconds` by its own account, and notes when it is done.
fn built(project: &Project, id: &str, seconds: u32) -> Fake {
    let order = project.path("state/order");
    let note = format!("echo build-{id} >> {}", order.display());
    Fake::new(id)
        .toml(&format!("[build]\ncommands = [[\"sh\", \"-c\", {note:?}]]\nseconds = {seconds}\n"))
}

#[test]
fn a_pilot_runs_as_soon_as_its_contender_is_ready_and_the_cheapest_is_first() {
    let project = Project::new();
    // By their names they come the other way round.
    let dear = built(&project, "dear", 30);
    let swift = built(&project, "swift", 2);
    let project = project.with(dear).with(swift);
    let run = project.race().run().exits(0);
    assert_eq!(project.starts()[..4], ["build-swift", "swift", "build-dear", "dear"]);
    // The first time is shown as soon as it is seen, though nobody waited for that build.
    run.complains(&["first dear, swift: echo", "swift: ", "(echo n=10, 1 thread; preliminary)"])
        .complains(&["1/1 · echo n=10, 1 thread"]);
}

/// Where nobody sees a bar, a log tells when a build begins and when it is over.
#[test]
fn a_log_says_building_when_a_build_begins_and_ready_when_it_is_over() {
    let project = Project::new().with(Fake::new("good"));
    let broken = Fake::new("broken").toml("[build]\ncommands = [[\"false\"]]\nseconds = 9\n");
    let run = project.with(broken).race().run().exits(0);
    let told: Vec<&str> = run
        .stderr
        .lines()
        .filter(|line| ["building ", "ready "].iter().any(|word| line.starts_with(word)))
        .collect();
    assert_eq!(told, ["building 1/2: good", "ready 1/2: good", "building 2/2: broken"]);
    run.complains(&["broken will not race: "]);
}

/// A build in a lane that ends only if the build of `other` is under way with it.
fn built_beside(project: &Project, id: &str, other: &str, lane: &str) -> Fake {
    let order = project.path("state/order").display().to_string();
    let here = |id: &str| project.path(&format!("state/under-way-{id}")).display().to_string();
    let script = format!(
        "touch {}; n=0; until [ -e {} ]; do n=$((n+1)); [ $n -lt 6000 ] || exit 1; sleep 0.01; done; \
         echo build-{id} >> {order}",
        here(id),
        here(other)
    );
    let commands = format!("commands = [[\"sh\", \"-c\", {script:?}]]");
    Fake::new(id).toml(&format!("[build]\n{commands}\nseconds = 30\n{lane}"))
}

#[test]
fn two_lanes_are_built_at_once_and_nothing_is_raced_meanwhile() {
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() < 2) {
        eprintln!("skipped: one processor builds one contender at a time");
        return;
    }
    let project = Project::new();
    let first = built(&project, "first", 1);
    let one = built_beside(&project, "one", "two", "");
    let two = built_beside(&project, "two", "one", "lane = \"b\"\n");
    let project = project.with(first).with(one).with(two);
    let run = project.race().run().exits(0);
    run.complains(&["1/1 · echo n=10, 1 thread"]);
    let starts = project.starts();
    assert_eq!(starts[..2], ["build-first", "first"], "{starts:?}");
    let (mut builds, pilots) = (starts[2..4].to_vec(), starts[4..6].to_vec());
    builds.sort();
    assert_eq!(
        (builds, pilots),
        (vec!["build-one".into(), "build-two".into()], vec!["one".into(), "two".into()])
    );
}

#[test]
fn who_is_built_beside_another_is_told_as_built() {
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() < 2) {
        eprintln!("skipped: one processor builds one contender at a time");
        return;
    }
    let project = Project::new();
    let one = built_beside(&project, "one", "two", "");
    let two = built_beside(&project, "two", "one", "lane = \"b\"\n");
    let project = project.with(one).with(two);
    let states = |args: &[&str]| {
        let text = project.palio(args).run().exits(0).stdout;
        let state = |line: &str| {
            line.split(':')
                .next()
                .map(|state| state.split_whitespace().skip(1).collect::<Vec<_>>().join(" "))
        };
        text.lines().filter_map(state).collect::<Vec<_>>()
    };
    assert_eq!(states(&["build", "--strict"]), ["built", "built"]);
    assert_eq!(states(&["build", "--strict"]), ["up to date", "up to date"]);
}

#[test]
fn a_lane_is_a_word() {
    let project = Project::new();
    let odd = Fake::new("odd").toml("[build]\ncommands = [[\"true\"]]\nlane = \"../b\"\n");
    let project = project.with(odd);
    project
        .palio(&["list", "contenders"])
        .run()
        .exits(2)
        .complains(&["`build.lane` is \"../b\"", "lower-case letters"]);
}

#[test]
fn who_was_long_in_building_is_told_beside_the_fastest_so_far() {
    let project = Project::new();
    let slow = built(&project, "slow", 1).fault("claim:62000000");
    let swift = built(&project, "swift", 2);
    // Long enough to be told.
    let build = "[build]\ncommands = [[\"sleep\", \"1.1\"]]\nseconds = 3\n";
    let project = project.with(slow).with(swift).with(Fake::new("late").toml(build));
    let run = project.race().run().exits(0);
    run.complains(&[" × swift (echo n=10, 1 thread; preliminary), ready after "]);
}

/// Has the contender run this workload and no other.
fn runs_only(project: &Project, id: &str, workload: &str) {
    let file = format!("contenders/rust/{id}/contender.toml");
    let toml = project.read(&file);
    let all = "workloads = [\"echo\", \"tally\", \"raise\", \"fib\"]";
    assert!(toml.contains(all), "{toml}");
    project.write(&file, &toml.replace(all, &format!("workloads = [{workload:?}]")));
}

#[test]
fn the_race_whose_contenders_are_ready_soonest_is_first() {
    let project = Project::new();
    // The suite has them the other way round.
    let dear = built(&project, "dear", 30).fault("describe-alone");
    let cheap =
        built(&project, "cheap", 2).fault("describe-workload:tally").fault("describe-alone");
    let project = project.with(dear).with(cheap);
    runs_only(&project, "dear", "echo");
    runs_only(&project, "cheap", "tally");
    let args = ["run", "--blocks", "1", "--budget", "5", "--warm-up", "0"];
    let run = project.palio(&args).run().exits(0);
    assert_eq!(project.starts()[..2], ["build-cheap", "cheap"]);
    run.complains(&["first cheap: tally", "then  + dear: echo", "1/2 · tally", "2/2 · echo"]);
    project.assert_travels();
}

#[test]
fn a_race_is_over_before_what_it_does_not_need_is_built() {
    let project = Project::new();
    let late = built(&project, "late", 1).fault("describe-workload:else");
    let project = project.with(Fake::new("good")).with(late);
    let toml = project.read("contenders/rust/late/contender.toml");
    let other = toml.replace("workloads = [\"echo\"", "workloads = [\"else\"");
    project.write("contenders/rust/late/contender.toml", &other);
    let args = ["run", "--blocks", "2", "--budget", "5", "--warm-up", "0", "--json"];
    let report = project.palio(&args).run().exits(0);
    // A pilot of `good`, with its shadow two processes in each of two blocks, and its pilot in the
    // next race.
    let starts = project.starts();
    let before = starts.iter().position(|name| name == "build-late");
    assert_eq!(before, Some(6), "{starts:?}");
    report.complains(&["1/2 · echo", "2/2 · tally", "then  + late: tally"]);
}

#[test]
fn the_reference_gives_way_if_it_cannot_be_built() {
    let project = Project::new().with(Fake::new("good"));
    let broken = "[build]\ncommands = [[\"false\"]]\nseconds = 50\n";
    let project = project.with(Fake::new("go").toml(broken)).with(Fake::new("other"));
    let report = project.race().set("--blocks", "5").run().exits(0).json();
    assert_eq!(report["races"][0]["reference"], "good");
    assert!(report["races"][0]["noise_floor"]["ratio"].is_f64(), "{}", report["races"][0]);
    assert_eq!(entry(&report, "go")["outcome"], "not-built");
    // What is stored is what was raced.
    assert_eq!(project.report("latest")["races"][0]["reference"], "good");
    project.assert_travels();
}

#[test]
fn who_runs_none_of_the_workloads_is_not_built() {
    let project = Project::new().with(Fake::new("good"));
    let idle = built(&project, "idle", 1).fault("describe-workload:else");
    let project = project.with(idle);
    let toml = project.read("contenders/rust/idle/contender.toml");
    let other = toml.replace("workloads = [\"echo\"", "workloads = [\"else\"");
    project.write("contenders/rust/idle/contender.toml", &other);
    project.race().run().exits(0);
    assert!(!project.starts().contains(&"build-idle".to_owned()));
    project.assert_travels();
}
