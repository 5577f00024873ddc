use build_facts::{Runtime, emit};

fn main() {
    emit(Runtime { path: &["compio"], parts: &["compio-runtime", "compio-driver", "compio-net"] });
}
