//! The reactor of a build without I/O: there is none, and what would ask it is not compiled.

use crate::primitives::parker::{Interrupt, Parker};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// No value of this exists.
#[derive(Clone, Debug)]
pub(crate) enum Reactor {}

/// Nothing comes of what is not there.
#[derive(Debug, Default)]
pub(crate) struct Wakes(());

impl Wakes {
    #[expect(clippy::unused_self, reason = "as of a build with I/O")]
    pub(crate) fn is_empty(&self) -> bool {
        true
    }

    #[expect(clippy::unused_self, reason = "as of a build with I/O")]
    pub(crate) fn wake(&mut self) {}
}

impl Reactor {
    pub(crate) fn has_sources(&self) -> bool {
        match *self {}
    }

    pub(crate) fn interrupt(&self) -> Arc<dyn Interrupt> {
        match *self {}
    }

    pub(crate) fn park(
        &self,
        _parker: &Parker,
        _timeout: Option<Duration>,
        _wakes: &mut Wakes,
    ) -> bool {
        match *self {}
    }

    pub(crate) fn look(&self, _wakes: &mut Wakes) {
        match *self {}
    }

    pub(crate) fn is_unattended(&self, _seen: &mut u64) -> bool {
        match *self {}
    }

    pub(crate) fn lacks_holder(&self) -> bool {
        match *self {}
    }

    pub(crate) fn check_process(&self) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn shut_down(&self) {
        match *self {}
    }
}
