//! Values of tasks.

use crate::support::current_and_multi;
use trefoil::task;

trefoil::task_local! {
    static NUMBER: u32;
    static NAME: String;
}

#[test]
fn task_locals_follow_their_future() {
    for runtime in current_and_multi([1, 2]) {
        runtime.block_on(async {
            assert!(NUMBER.try_get().is_err());
            let handles: Vec<_> = (0..20)
                .map(|n| {
                    trefoil::spawn(NUMBER.scope(n, async move {
                        for _ in 0..10 {
                            assert_eq!(NUMBER.get(), n);
                            task::yield_now().await;
                        }
                        NUMBER.scope(n + 1, async { assert_eq!(NUMBER.get(), n + 1) }).await;
                        NAME.sync_scope("x".into(), || assert_eq!(NAME.get(), "x"));
                        NUMBER.get()
                    }))
                })
                .collect();
            for (n, handle) in handles.into_iter().enumerate() {
                assert_eq!(handle.await.unwrap(), n as u32);
            }
        });
    }
}
