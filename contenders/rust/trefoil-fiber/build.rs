use build_facts::{Runtime, emit};

fn main() {
    emit(Runtime { path: &["trefoil"], parts: &[] });
}
