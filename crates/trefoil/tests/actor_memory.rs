//! What an actor keeps of others that are gone.

#![cfg(not(loom))]

#[path = "support/live.rs"]
mod live;

use live::LIVE;
use trefoil::actor::{self, Context, Registry};
use trefoil::runtime::Builder;

/// A runtime of one thread, so that its count is that of all.
#[test]
fn a_registry_that_is_dropped_leaves_nothing_with_its_actors() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let _guard = runtime.enter();
    let [a, b] = [(); 2].map(|()| {
        actor::spawn(async |mut own: Context<()>| assert_eq!(own.receive().await, Ok(())))
    });
    let lasting = Registry::new();
    lasting.register("lasting", &a).unwrap();
    let round = || {
        let registry = Registry::new();
        for name in ["one", "another", "a third"] {
            registry.register(name, &a).unwrap();
        }
        registry.register("other", &b).unwrap();
        // The last one counts.
        let clone = registry.clone();
        drop(registry);
        assert_eq!(clone.names().len(), 4);
    };
    // The first one makes room in the actors for the names that they have at the same time.
    round();
    let before = LIVE.get();
    for _ in 0..100 {
        round();
    }
    assert_eq!(LIVE.get(), before);
    // Others are not touched, and the end of the actor still finds them.
    assert_eq!(lasting.pid("lasting"), Some(a.pid()));
    let left = Registry::new();
    left.register("left", &a).unwrap();
    runtime.block_on(async {
        a.send(()).await.unwrap();
        assert!(a.join().await.is_normal());
    });
    assert_eq!((lasting.names(), left.names()), (Vec::new(), Vec::new()));
}
