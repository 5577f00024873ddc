//! The published schema of bundles is the one that the code reads and writes.

use std::path::Path;

#[test]
fn the_published_bundle_schema_is_the_one_in_force() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bundle.schema.json");
    let now = palio::store::bundle_schema();
    // `PALIO_BLESS=1 cargo test` writes the file after a change that was meant.
    if std::env::var_os("PALIO_BLESS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap();
    assert!(
        published == now,
        "docs/bundle.schema.json is out of date: run PALIO_BLESS=1 cargo test"
    );
}
