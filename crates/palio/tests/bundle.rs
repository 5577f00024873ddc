//! Runs travel as bundles: what is exported is imported to the last byte, and nothing else is.

use std::fs;

use crate::support::{self, Fake, Finished, Project};
use sha2::{Digest, Sha256};

/// A project with one run of a good and a bad contender, and its bundle.
fn bundled() -> (Project, String) {
    let project =
        Project::good_and(Fake::new("bad").fault("wrong-answer:4").fault("flood-stderr:3").from(2));
    project.race().set("--reference", "good").run().exits(0);
    project
        .palio(&["export", "latest", "bundle.json"])
        .run()
        .exits(0)
        .prints(&["wrote bundle.json"]);
    let bundle = project.read("bundle.json");
    (project, bundle)
}

/// Imports `text` into an empty database.
fn import(project: &Project, text: &str) -> Finished {
    project.write("altered.json", text);
    project.palio(&["import", "altered.json", "--db", "empty.db"]).run()
}

/// Makes the hash of an altered bundle right again.
fn rehashed(bundle: &str) -> String {
    let start = bundle.find("\"run\":").unwrap() + "\"run\":".len();
    let end = bundle.rfind('}').unwrap();
    let hash: String = Sha256::digest(&bundle.as_bytes()[start..end])
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let old = bundle.find("\"sha256\":\"").unwrap() + "\"sha256\":\"".len();
    format!("{}{hash}{}", &bundle[..old], &bundle[old + 64..])
}

#[test]
fn a_run_survives_the_journey_to_the_last_byte() {
    let (project, bundle) = bundled();
    import(&project, &bundle).exits(0).prints(&["imported the run"]);
    let again = project.palio(&["export", "latest", "-", "--db", "empty.db"]).run().exits(0);
    assert_eq!(again.stdout, bundle);
    let reports = ["palio.db", "empty.db"].map(|database| {
        project.palio(&["report", "--format", "json", "--db", database]).run().exits(0).stdout
    });
    assert_eq!(reports[0], reports[1]);
}

#[test]
fn a_bundle_of_an_older_palio_is_read() {
    let (project, bundle) = bundled();
    // What it did not know: salts, and the clock outside.
    let mut old: serde_json::Value = serde_json::from_str(&bundle).unwrap();
    for race in old["run"]["races"].as_array_mut().unwrap() {
        for cell in race["cells"].as_array_mut().unwrap() {
            for invocation in cell["invocations"].as_array_mut().unwrap() {
                let fields = invocation.as_object_mut().unwrap();
                assert!(fields.remove("salt").is_some() && fields.remove("spans").is_some());
            }
        }
    }
    // The keys of a `Value` are sorted, and the run has to come last.
    let head = bundle.split_once("\"run\":").unwrap().0;
    let old = format!("{head}\"run\":{}}}", old["run"]);
    import(&project, &rehashed(&old)).exits(0);
    let args = ["report", "--format", "json", "--db", "empty.db"];
    let report = project.palio(&args).run().exits(0).json();
    let good = support::entry(&report, "good");
    assert_eq!(good["outcome"], "ok");
    assert!(good["accounted_percent"].is_null());
    // Whoever only took them away says it with that.
    let warnings = report["run"]["warnings"].to_string();
    support::assert_has(&warnings, &["its processes have no salts, as those of a Palio from"]);
}

#[test]
fn a_compressed_bundle_is_the_same_bundle() {
    let (project, bundle) = bundled();
    project.palio(&["export", "latest", "bundle.json.gz"]).run().exits(0);
    let packed = fs::read(project.path("bundle.json.gz")).unwrap();
    assert!(packed.len() * 3 < bundle.len(), "{} of {}", packed.len(), bundle.len());
    project.palio(&["import", "bundle.json.gz", "--db", "empty.db"]).run().exits(0);
    let again = project.palio(&["export", "latest", "-", "--db", "empty.db"]).run().exits(0);
    assert_eq!(again.stdout, bundle);
    // Neither the name nor the way in matters.
    project.palio(&["import", "-", "--db", "other.db"]).input(packed.clone()).run().exits(0);
    fs::write(project.path("cut.json.gz"), &packed[..packed.len() / 2]).unwrap();
    let run = project.palio(&["import", "cut.json.gz", "--db", "third.db"]).run();
    run.fails_with(&["cut.json.gz", "damaged or cut off"]);
    fs::write(project.path("plain.json.gz"), &bundle).unwrap();
    project.palio(&["import", "plain.json.gz", "--db", "fourth.db"]).run().exits(0);
}

/// A report without what a thinned bundle may change: the samples, what is computed of them one by
/// one, and the folder that commands begin in.
fn of_sums(mut report: serde_json::Value) -> serde_json::Value {
    report["run"]["thinned"].take();
    for race in report["races"].as_array_mut().unwrap() {
        race["noise_floor"].take();
        race["cautions"].take();
        for entry in race["entries"].as_array_mut().unwrap() {
            for field in [
                "value_ns",
                "median_ns",
                "min_ns",
                "max_ns",
                "ratio_to_best",
                "ratio_to_reference",
                "drift",
                "sample_ns",
                "sample_block",
                "rank",
                "by_hand",
            ] {
                entry[field].take();
            }
        }
    }
    report["totals"].take();
    report["told_apart"].take();
    report
}

#[test]
fn a_thinned_bundle_says_so_and_keeps_every_sum() {
    let project = Project::good_and(Fake::new("bad").fault("wrong-answer:4").from(2));
    let race = project.race().set("--reference", "good").set("--budget", "60");
    race.set("--warm-up", "20").run().exits(0);
    let full = project.report("latest");
    project.palio(&["export", "latest", "thin.json.gz", "--thin", "5"]).run().exits(0);
    project.palio(&["import", "thin.json.gz", "--db", "thin.db"]).run().exits(0);
    let json = ["report", "--format", "json", "--db", "thin.db"];
    let thinned = project.palio(&json).run().exits(0).json();
    let good = support::entry(&thinned, "good");
    let kept = good["sample_ns"].as_array().unwrap().len();
    assert_eq!(kept, 2 * 5, "two blocks of five");
    assert_eq!(thinned["run"]["thinned"]["samples_per_process"], 5);
    let before = support::entry(&full, "good")["sample_ns"].as_array().unwrap().len();
    assert!(before > kept && good["samples"] == before, "{before}");
    let by_hand = good["by_hand"].as_str().unwrap();
    assert!(by_hand.contains("--state state/good "), "{by_hand}");
    assert_eq!(of_sums(thinned), of_sums(full));

    // What failed is evidence, and stays.
    let (all, rest) = (project.stored(), {
        let bundle = project.palio(&["export", "latest", "-", "--db", "thin.db"]).run().exits(0);
        bundle.json()["run"].clone()
    });
    let failed = |run: &serde_json::Value| -> Vec<serde_json::Value> {
        let cells = support::cells(run).into_iter();
        let invocations = cells.flat_map(|cell| cell["invocations"].as_array().unwrap().clone());
        invocations.filter(|invocation| invocation["outcome"] != "ok").collect()
    };
    assert!(!failed(&all).is_empty());
    assert_eq!(failed(&all), failed(&rest));

    for format in ["terminal", "markdown", "html"] {
        let args = ["report", "--db", "thin.db", "--format", format];
        let text = project.palio(&args).run().exits(0).stdout;
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        support::assert_has(&text, &["This run is thinned:", "at most 5 of each process"]);
    }
    let args = ["report", "--db", "thin.db", "--headline", "good"];
    project.palio(&args).run().exits(0).prints(&["This run is thinned:"]);
    let show = ["show", "echo", "good", "--db", "thin.db"];
    project.palio(&show).run().exits(0).prints(&["This run is thinned: "]);
    let show = ["show", "echo", "good", "--db", "thin.db", "--samples"];
    project.palio(&show).run().exits(0).prints(&["not in this thinned run:"]);
}

#[test]
fn a_run_that_lacks_nothing_but_its_warm_up_is_not_called_thinned() {
    let (project, _) = bundled();
    project.race().set("--warm-up", "5").set("--reference", "good").run().exits(0);
    project.palio(&["export", "latest", "thin.json", "--thin", "10000"]).run().exits(0);
    assert!(project.read("thin.json").contains(",\"thinned\":10000"));
    let report = |format| {
        let args = ["report", "--bundle", "thin.json", "--format", format];
        project.palio(&args).run().exits(0)
    };
    for format in ["terminal", "markdown", "html", "svg", "csv"] {
        let run = report(format);
        assert!(!(run.stdout + &run.stderr).contains("thinned"), "{format}");
    }
    assert!(report("json").json()["run"]["thinned"].is_null());
}

#[test]
fn a_bundle_that_conceals_its_thinning_is_refused() {
    let (project, _) = bundled();
    project.race().set("--budget", "60").set("--reference", "good").run().exits(0);
    let args = ["export", "latest", "thin.json", "--thin", "5"];
    project.palio(&args).run().exits(0);
    let bundle = project.read("thin.json");
    let silent = rehashed(&bundle.replacen(",\"thinned\":5", "", 1));
    assert_ne!(silent, bundle);
    import(&project, &silent).fails_with(&["lacks samples", "thinned"]);
    // Too few to speak of a median.
    let run = project.palio(&["export", "latest", "thin.json", "--thin", "4"]).run();
    run.fails_with(&["4", "5"]);
}

#[test]
fn a_bundle_can_come_from_standard_input() {
    let (project, bundle) = bundled();
    project.palio(&["import", "-", "--db", "empty.db"]).input(bundle).run().exits(0);
}

#[test]
fn a_second_import_is_refused_and_harmless() {
    let (project, bundle) = bundled();
    import(&project, &bundle).exits(0);
    import(&project, &bundle).fails_with(&["the run", "is there already"]);
    let runs = project.palio(&["list", "runs", "--json", "--db", "empty.db"]).run().exits(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 1);
}

#[test]
fn a_truncated_bundle_is_refused() {
    let (project, bundle) = bundled();
    for length in [0, 1, 60, bundle.len() / 2, bundle.len() - 3] {
        import(&project, &bundle[..length]).fails_with(&[
            "altered.json",
            "not a bundle",
            "cut off",
        ]);
    }
}

#[test]
fn an_edited_bundle_is_refused() {
    let (project, bundle) = bundled();
    let edited = bundle.replacen("\"elapsed_ns\":2000000", "\"elapsed_ns\":1000000", 1);
    assert_ne!(edited, bundle);
    import(&project, &edited).fails_with(&["altered.json", "was changed after it was written"]);
    // So is one that only looks the same to a reader of JSON.
    let spaced = bundle.replacen("\"races\":[", "\"races\": [", 1);
    import(&project, &spaced).fails_with(&["was changed"]);
}

#[test]
fn a_bundle_of_another_version_is_refused() {
    let (project, bundle) = bundled();
    import(&project, &bundle.replacen("\"version\":1", "\"version\":2", 1)).fails_with(&[
        "altered.json",
        "version 2",
        "update Palio",
    ]);
}

#[test]
fn a_bundle_of_another_format_is_refused() {
    let (project, bundle) = bundled();
    import(&project, &bundle.replacen("palio-bundle", "siena-bundle", 1)).fails_with(&[
        "altered.json",
        "not a bundle of Palio",
        "siena-bundle",
    ]);
}

#[test]
fn a_bundle_with_a_right_hash_and_a_wrong_shape_is_refused() {
    let (project, bundle) = bundled();
    for (from, to, reason) in [
        ("\"seed\":", "\"seeed\":", "seeed"),
        ("\"blocks\":2", "\"blocks\":-2", "-2"),
        ("\"outcome\":\"ok\"", "\"outcome\":\"splendid\"", "splendid"),
        ("\"elapsed_ns\":2000000", "\"elapsed_ns\":\"soon\"", "soon"),
    ] {
        let altered = rehashed(&bundle.replacen(from, to, 1));
        assert_ne!(altered, bundle, "{from}");
        import(&project, &altered).fails_with(&["altered.json", "does not have the shape", reason]);
    }
    // The whole of it or nothing.
    let runs = project.palio(&["list", "runs", "--json", "--db", "empty.db"]).run().exits(0).json();
    assert_eq!(runs.as_array().unwrap().len(), 0);
}

#[test]
fn a_bundle_whose_run_is_named_like_a_path_is_refused() {
    let (project, bundle) = bundled();
    let start = bundle.find("\"id\":\"").unwrap() + "\"id\":\"".len();
    let length = bundle[start..].find('"').unwrap();
    let mut altered = bundle.clone();
    altered.replace_range(start..start + length, "../../escaped");
    import(&project, &rehashed(&altered)).fails_with(&["altered.json", "../../escaped"]);
}

#[test]
fn what_is_no_bundle_is_refused() {
    let (project, bundle) = bundled();
    for text in [
        "null",
        "[]",
        "{}",
        "{\"format\":\"palio-bundle\"}",
        "Dear diary",
        &format!("{bundle}{bundle}"),
    ] {
        import(&project, text).fails_with(&["altered.json", "not a bundle"]);
    }
    import(&project, "{\"diary\":1}").fails_with(&["unknown field `diary`, expected one of"]);
    fs::write(project.path("binary.json"), [0xff, 0xfe, 0]).unwrap();
    project.palio(&["import", "binary.json"]).run().fails_with(&["binary.json", "UTF-8"]);
    project.palio(&["import", "absent.json"]).run().fails_with(&["absent.json"]);
}

#[test]
fn a_bundle_that_cannot_be_written_is_named() {
    let (project, _) = bundled();
    project
        .palio(&["export", "latest", "no/such/folder.json"])
        .run()
        .fails_with(&["no/such/folder.json"]);
    let run = project.palio(&["export", "latest", "/dev/full"]).run();
    run.fails_with(&["cannot write /dev/full"]);
    project.palio(&["export", "nope", "-"]).run().fails_with(&["no run \"nope\""]);
}
