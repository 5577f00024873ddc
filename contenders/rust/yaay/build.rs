use build_facts::{Runtime, emit_of_checkout};

fn main() {
    emit_of_checkout(
        Runtime { path: &["yaay-mt-runtime"], parts: &["parking_lot"] },
        "YAAY_CHECKOUT",
    );
}
