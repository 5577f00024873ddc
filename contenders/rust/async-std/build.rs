use build_facts::{Runtime, emit};

fn main() {
    emit(Runtime { path: &["async-std"], parts: &["async-global-executor"] });
}
