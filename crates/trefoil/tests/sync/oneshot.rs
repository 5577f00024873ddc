//! `oneshot`: a message, or the end of either side.

use crate::support::current_thread;
use trefoil::sync::oneshot;
use trefoil::task;

#[test]
fn oneshot_sides_see_each_other_go() {
    let runtime = current_thread();
    runtime.block_on(async {
        let (sender, receiver) = oneshot::channel::<i32>();
        drop(sender);
        assert!(receiver.await.is_err());
        let (mut sender, receiver) = oneshot::channel::<i32>();
        assert!(!sender.is_closed());
        drop(receiver);
        sender.closed().await;
        assert_eq!(sender.send(1), Err(1));
        let (sender, mut receiver) = oneshot::channel::<i32>();
        assert_eq!(receiver.try_recv(), Err(oneshot::error::TryRecvError::Empty));
        sender.send(2).unwrap();
        receiver.close();
        assert_eq!(receiver.try_recv(), Ok(2));
        let (sender, mut receiver) = oneshot::channel::<i32>();
        let waiting = trefoil::spawn(async move {
            let mut sender = sender;
            sender.closed().await;
        });
        task::yield_now().await;
        receiver.close();
        waiting.await.unwrap();
        assert!(receiver.await.is_err());
    });
}
