use build_facts::{Runtime, emit_of_checkout};

fn main() {
    emit_of_checkout(Runtime { path: &["smarm"], parts: &[] }, "SMARM_CHECKOUT");
}
