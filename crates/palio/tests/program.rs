//! What `palio` does, and what it prints, as a user sees it. One program with all of it: each test
//! file by itself would be linked with all of Palio once more.
//!
//! One file's tests: `cargo test -p palio --test program resume::`.

mod allocators;
mod bad_contender;
mod bad_input;
mod baseline;
mod bisect;
mod bundle;
mod cli;
mod compare;
mod containment;
mod cpu_budget;
mod document;
mod fakes;
mod forged;
mod forged_facts;
mod forged_history;
mod forget;
mod forks;
mod headline;
mod headline_rows;
mod interrupt;
mod kills;
mod kills_while_writing;
mod languages;
mod latency;
mod lease;
mod manifests;
mod optional_libraries;
mod order_of_work;
mod poor_system;
mod published;
mod published_schema;
mod race_disturbed;
mod race_more_blocks;
mod race_schedule;
mod releases;
mod replaced_program;
mod replicate;
mod report_browser;
mod report_fixture;
mod report_html;
mod report_picture;
mod report_schema;
mod report_text;
mod resume;
mod scale;
mod selection;
mod self_race;
mod store;
mod support;
mod sweep;
mod terminal;
mod variants;
