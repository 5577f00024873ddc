use super::TimerQueue;
use crate::primitives::Mutex;
use std::sync::Arc;

/// The timers of those threads that are in a `block_on` of one runtime and drive nothing else: each
/// has a queue of its own. The runtime knows them, so that its end reaches them.
#[derive(Debug, Default)]
pub(crate) struct BlockOnTimers {
    queues: Mutex<Queues>,
}

#[derive(Debug, Default)]
struct Queues {
    open: Vec<Arc<TimerQueue>>,
    is_over: bool,
}

impl BlockOnTimers {
    /// Adds a queue, until `leave`. If the runtime is over, the queue is closed.
    pub(crate) fn enter(&self, queue: &Arc<TimerQueue>) {
        let mut queues = self.queues.lock();
        if !queues.is_over {
            queues.open.push(Arc::clone(queue));
            return;
        }
        drop(queues);
        queue.close();
    }

    pub(crate) fn leave(&self, queue: &Arc<TimerQueue>) {
        let mut queues = self.queues.lock();
        if let Some(place) = queues.open.iter().position(|other| Arc::ptr_eq(other, queue)) {
            queues.open.swap_remove(place);
        }
    }

    /// Time was stopped: has all tasks polled that wait for these timers, which then register where
    /// time jumps to them. A queue that comes later, and a timer that comes later to one of these,
    /// are refused, for whoever comes after the locks sees that time is stopped.
    #[cfg(feature = "test-util")]
    pub(super) fn release(&self) {
        let open = self.queues.lock().open.clone();
        // To release a queue wakes tasks, which is foreign code.
        open.iter().for_each(|queue| queue.release());
    }

    /// The runtime is over: has all tasks polled that wait for these timers, which then panic.
    pub(crate) fn close(&self) {
        let mut queues = self.queues.lock();
        queues.is_over = true;
        let open = std::mem::take(&mut queues.open);
        // To close a queue wakes tasks, which is foreign code.
        drop(queues);
        open.iter().for_each(|queue| queue.close());
    }
}
