use build_facts::{Runtime, emit};

fn main() {
    emit(Runtime { path: &["smol"], parts: &["async-executor", "async-io", "async-channel"] });
}
