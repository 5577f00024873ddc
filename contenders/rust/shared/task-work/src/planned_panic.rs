//! A panic that is part of a workload.

use std::panic;

const PLANNED: &str = "planned by the workload";

/// Panics as any program does, with a message.
pub fn planned_panic() -> ! {
    panic!("{}", PLANNED)
}

/// Keeps the messages of planned panics off standard error, and no others.
pub fn silence_planned_panics() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if info.payload_as_str() != Some(PLANNED) {
            report(info);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planned_panic_is_a_panic() {
        assert!(panic::catch_unwind(|| planned_panic()).is_err());
    }
}
