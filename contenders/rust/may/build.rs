use build_facts::{Runtime, emit};

fn main() {
    emit(Runtime { path: &["may"], parts: &["generator"] });
}
