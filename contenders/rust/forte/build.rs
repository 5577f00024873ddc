use build_facts::{Runtime, emit};

fn main() {
    emit(Runtime { path: &["forte"], parts: &[] });
}
