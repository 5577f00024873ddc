//! What fibers begin with.

// ThreadSanitizer does not know of switches between stacks.
#![cfg(all(unix, not(trefoil_tsan)))]

use crate::support::multi;
use std::sync::Arc;
use trefoil::fiber;
use trefoil::runtime::Runtime;

#[test]
fn a_fiber_may_begin_with_any_number_of_bytes() {
    #[repr(align(128))]
    struct Aligned([u8; 128]);

    fn begins<const N: usize>(runtime: &Runtime) {
        let bytes = [7_u8; N];
        let counts = move || bytes.iter().map(|&byte| usize::from(byte)).sum::<usize>();
        let fiber = runtime.block_on(async move {
            fiber::Builder::new().stack_size(1 << 20).spawn(counts).unwrap().await
        });
        assert_eq!(fiber.unwrap(), 7 * N, "{N} bytes");
    }

    for runtime in [multi(1), multi(2)] {
        begins::<0>(&runtime);
        begins::<511>(&runtime);
        begins::<513>(&runtime);
        begins::<1016>(&runtime);
        begins::<1017>(&runtime);
        begins::<1025>(&runtime);
        begins::<4096>(&runtime);
        begins::<20_000>(&runtime);
        let aligned = Aligned([1; 128]);
        let is_aligned = runtime.block_on(async move {
            let is_aligned = move || {
                let aligned = &aligned;
                (&raw const aligned.0).addr().is_multiple_of(128) && aligned.0 == [1; 128]
            };
            fiber::spawn(is_aligned).await
        });
        assert!(is_aligned.unwrap());
        // One that is aborted before it begins drops what it has.
        let kept = Arc::new(());
        let (mut bytes, its) = ([0_u8; 4096], kept.clone());
        let fiber = runtime.spawn(async move {
            let fiber = fiber::spawn(move || {
                bytes[0] += 1;
                std::hint::black_box(&bytes);
                drop(its);
            });
            fiber.abort();
            drop(fiber.await);
        });
        runtime.block_on(fiber).unwrap();
        assert_eq!(Arc::strong_count(&kept), 1);
    }
}
