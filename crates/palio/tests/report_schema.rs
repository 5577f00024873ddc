//! `docs/report.schema.json` describes exactly what `json::render` writes.
//!
//! The published schema lets unknown fields pass, as fields may be added. These tests also use it
//! with that door closed, so that a field which is written but not described, or described but not
//! written, fails here.

use crate::report_fixture;
use jsonschema::Validator;
use palio::report::{Report, json};
use serde_json::{Value, json};

fn schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/report.schema.json");
    let text = std::fs::read_to_string(path).expect("the schema is part of the repository");
    serde_json::from_str(&text).expect("the schema is JSON")
}

fn validator(schema: &Value) -> Validator {
    jsonschema::draft202012::new(schema).expect("the schema is a schema")
}

fn document(report: &Report) -> Value {
    serde_json::from_str(&json::render(report)).expect("a report is JSON")
}

/// The same schema, but an object may have no field that is not described.
fn closed(mut schema: Value) -> Value {
    fn close(schema: &mut Value) {
        match schema {
            Value::Object(map) => {
                // What `if`, `then` and `else` mention is no complete list.
                for (key, value) in map.iter_mut() {
                    if !["if", "then", "else"].contains(&key.as_str()) {
                        close(value);
                    }
                }
                if map.contains_key("required") && map.contains_key("properties") {
                    map.insert("additionalProperties".into(), false.into());
                }
            }
            Value::Array(list) => list.iter_mut().for_each(close),
            _ => {}
        }
    }
    close(&mut schema);
    schema
}

#[track_caller]
fn assert_valid(validator: &Validator, document: &Value) {
    let errors: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

#[test]
fn the_schema_is_valid() {
    jsonschema::meta::validate(&schema()).expect("valid by its own meta-schema");
}

#[test]
fn every_report_is_valid_and_every_field_is_described() {
    let (open, closed) = (validator(&schema()), validator(&closed(schema())));
    let reports = [
        report_fixture::small(),
        report_fixture::typical(),
        report_fixture::pending(),
        report_fixture::hostile(),
        report_fixture::empty(),
        report_fixture::swept(),
        report_fixture::scaled(),
    ];
    for report in reports {
        assert_valid(&open, &document(&report));
        assert_valid(&closed, &document(&report));
    }
}

#[test]
fn a_report_of_a_part_is_valid_too() {
    let mut report = report_fixture::small();
    report.run.selection = Some(palio::report::model::Selection {
        contenders: vec!["go".into()],
        contenders_left_out: vec!["smol".into()],
        intersection: true,
        races_left_out: vec!["fib n=27 · 2 threads".into()],
    });
    assert_valid(&validator(&closed(schema())), &document(&report));
    rejects("/run/selection", json!({ "contenders": [] }));
}

#[test]
fn a_report_reads_back_as_it_was() {
    for report in [report_fixture::typical(), report_fixture::swept(), report_fixture::scaled()] {
        let back: Report = serde_json::from_str(&json::render(&report)).expect("a report is JSON");
        assert_eq!(back, report);
    }
}

#[test]
fn readers_of_today_accept_fields_of_tomorrow() {
    let mut document = document(&report_fixture::small());
    document["races"][0]["entries"][0]["energy_joules"] = json!(1.5);
    assert_valid(&validator(&schema()), &document);
}

/// Changes one place of a good document, which must make it a bad one.
#[track_caller]
fn rejects(pointer: &str, value: Value) {
    let mut document = document(&report_fixture::typical());
    *document.pointer_mut(pointer).unwrap_or_else(|| panic!("nothing at {pointer}")) = value;
    assert!(!validator(&schema()).is_valid(&document), "{pointer} was accepted");
}

#[test]
fn bad_values_are_rejected() {
    rejects("", json!([]));
    rejects("/run/blocks", json!(0));
    rejects("/run/seed", json!(-1));
    rejects("/run/state", json!("done"));
    rejects("/run/started_at", json!("yesterday"));
    rejects("/run/machine/cores", json!(0));
    rejects("/races/0/threads", json!("2"));
    rejects("/races/0/params/n", json!(27));
    rejects("/races/0/noise_floor/ratio", json!(0.98));
    rejects("/races/0/entries/0/outcome", json!("fine"));
    rejects("/races/0/entries/0/rank", json!([1]));
    rejects("/races/0/entries/0/rank", json!([1, 2, 3]));
    rejects("/races/0/entries/0/rank", json!([0, 1]));
    rejects("/races/0/entries/0/median_ns", json!(-4.0));
    rejects("/races/0/entries/0/ratio_to_best", json!({ "point": 1.0 }));
    rejects("/races/0/entries/0/ratio_to_reference/verdict", json!("better"));
    rejects("/races/0/entries/0/max_rss_kib", json!(12.5));
    rejects("/races/0/entries/0/sample_ns", json!([1.0, null]));
    rejects("/predictions/0/held", json!("yes"));
}

#[test]
fn a_failure_with_a_rank_or_a_success_without_a_time_is_rejected() {
    rejects("/races/0/entries/0/outcome", json!("crashed"));
    rejects("/races/0/entries/0/median_ns", Value::Null);
    rejects("/races/0/entries/1/rank", Value::Null);
    rejects("/races/0/entries/0/samples", json!(0));
}

#[test]
fn a_baseline_with_a_rank_is_rejected() {
    assert_eq!(document(&report_fixture::typical())["races"][0]["entries"][0]["kind"], "baseline");
    rejects("/races/0/entries/0/rank", json!([1, 1]));
}

#[test]
fn every_field_is_required() {
    let validator = validator(&schema());
    let good = document(&report_fixture::typical());
    let objects = [
        "",
        "/run",
        "/run/machine",
        "/races/0",
        "/races/0/entries/0",
        "/races/0/noise_floor",
        "/totals/0",
        "/contenders/0",
    ];
    for pointer in objects {
        let fields: Vec<String> =
            good.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect();
        for field in fields {
            let mut document = good.clone();
            document.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(&field);
            assert!(!validator.is_valid(&document), "{pointer}/{field} may be missing");
        }
    }
}
