use build_facts::{Runtime, emit};

fn main() {
    emit(Runtime { path: &["nio-adapter", "nio"], parts: &["nio-task"] });
}
