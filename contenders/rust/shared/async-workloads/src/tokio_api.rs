//! [`AsyncRuntime`](crate::AsyncRuntime) for runtimes with tokio's names.

/// Adapts a runtime crate with tokio's names: its two schedulers, a join handle, and `AsyncRuntime`
/// for both.
///
/// A macro, because the same names lie in different crates; each crate compiles its own copy of the
/// code that its users would write. `start` is a function from a builder to a running runtime.
#[macro_export]
macro_rules! adapt_tokio_api {
    ($api:ident as $name:ident, local: $local:ident, start: $start:path) => {
        /// One of the schedulers.
        pub trait Scheduler: 'static {
            /// Whether the thread in `block_on` is the only worker.
            const DRIVEN_BY_BLOCK_ON: bool;

            /// The builder of a runtime with `threads` workers and nothing else changed.
            fn builder(threads: usize) -> $api::runtime::Builder;
        }

        /// The multi-thread scheduler.
        #[derive(Debug)]
        pub struct MultiThread;

        impl Scheduler for MultiThread {
            const DRIVEN_BY_BLOCK_ON: bool = false;

            fn builder(threads: usize) -> $api::runtime::Builder {
                let mut builder = $api::runtime::Builder::new_multi_thread();
                builder.worker_threads(threads);
                builder
            }
        }

        /// The current-thread scheduler, whose worker is the thread inside `block_on`.
        #[derive(Debug)]
        pub struct CurrentThread;

        impl Scheduler for CurrentThread {
            const DRIVEN_BY_BLOCK_ON: bool = true;

            fn builder(_threads: usize) -> $api::runtime::Builder {
                // The harness has refused more than one thread.
                $api::runtime::Builder::new_current_thread()
            }
        }

        /// A runtime with the scheduler `S`.
        #[derive(Debug)]
        pub struct $name<S> {
            runtime: $api::runtime::Runtime,
            scheduler: ::std::marker::PhantomData<S>,
        }

        /// A join handle whose output is the task's.
        ///
        /// The runtime's handle returns a `Result`, which every program takes apart at once. Doing
        /// it here costs the same branch.
        #[derive(Debug)]
        pub struct Join<T>($api::task::JoinHandle<T>);

        impl<T> Future for Join<T> {
            type Output = T;

            fn poll(
                mut self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<T> {
                let ended = ::std::task::ready!(::std::pin::Pin::new(&mut self.0).poll(cx));
                ::std::task::Poll::Ready(match ended {
                    Ok(output) => output,
                    Err(error) => match error.try_into_panic() {
                        Ok(panic) => ::std::panic::resume_unwind(panic),
                        Err(error) => panic!("nobody cancels a task here: {error}"),
                    },
                })
            }
        }

        impl<S: Scheduler> $crate::AsyncRuntime for $name<S> {
            const DRIVEN_BY_BLOCK_ON: bool = S::DRIVEN_BY_BLOCK_ON;
            // Not where the only worker is the thread in `block_on`: nobody could take over.
            const HAS_BLOCK_IN_PLACE: bool = !S::DRIVEN_BY_BLOCK_ON;

            type Handle = $api::runtime::Handle;
            type Join<T: Send + 'static> = Join<T>;

            fn start(threads: usize) -> Self {
                let runtime = $start(S::builder(threads));
                Self { runtime, scheduler: ::std::marker::PhantomData }
            }

            fn handle(&self) -> Self::Handle {
                self.runtime.handle().clone()
            }

            fn spawn_from_outside<F>(handle: &Self::Handle, task: F) -> Join<F::Output>
            where
                F: Future<Output: Send + 'static> + Send + 'static,
            {
                Join(handle.spawn(task))
            }

            fn spawn_detached_from_outside<F>(handle: &Self::Handle, task: F)
            where
                F: Future<Output = ()> + Send + 'static,
            {
                drop(handle.spawn(task));
            }

            fn block_on<F>(&self, future: F) -> F::Output
            where
                F: Future<Output: Send> + Send,
            {
                self.runtime.block_on(future)
            }

            fn spawn<F>(task: F) -> Join<F::Output>
            where
                F: Future<Output: Send + 'static> + Send + 'static,
            {
                Join($api::spawn(task))
            }

            fn spawn_detached<F>(task: F)
            where
                F: Future<Output = ()> + Send + 'static,
            {
                drop($api::spawn(task));
            }

            fn spawn_blocking<T, F>(work: F) -> Join<T>
            where
                T: Send + 'static,
                F: FnOnce() -> T + Send + 'static,
            {
                Join($api::task::spawn_blocking(work))
            }

            fn block_in_place<T>(work: impl FnOnce() -> T) -> T {
                $api::task::block_in_place(work)
            }

            async fn join_caught<T: Send + 'static>(join: Join<T>) -> Option<T> {
                join.0.await.ok()
            }

            fn yield_now() -> impl Future<Output = ()> + Send {
                $api::task::yield_now()
            }

            fn sleep(duration: ::std::time::Duration) -> impl Future<Output = ()> {
                $api::time::sleep(duration)
            }

            async fn timeout<F: Future>(
                duration: ::std::time::Duration,
                future: F,
            ) -> Option<F::Output> {
                $api::time::timeout(duration, future).await.ok()
            }

            fn spawn_timed(task: $crate::TimedTask) -> Join<u64> {
                Self::spawn(task.run::<Self>())
            }
        }

        impl<S: Scheduler> $crate::AsyncNet for $name<S> {
            type Listener = $api::net::TcpListener;
            type Stream = $api::net::TcpStream;

            fn listener(listener: ::std::net::TcpListener) -> ::std::io::Result<Self::Listener> {
                $api::net::TcpListener::from_std(listener)
            }

            async fn accept(listener: &mut Self::Listener) -> ::std::io::Result<Self::Stream> {
                listener.accept().await.map(|(stream, _)| stream)
            }

            fn connect(
                address: ::std::net::SocketAddr,
            ) -> impl Future<Output = ::std::io::Result<Self::Stream>> + Send {
                $api::net::TcpStream::connect(address)
            }

            async fn read_exact(
                stream: &mut Self::Stream,
                bytes: &mut [u8],
            ) -> ::std::io::Result<()> {
                $api::io::AsyncReadExt::read_exact(stream, bytes).await.map(drop)
            }

            async fn write_all(stream: &mut Self::Stream, bytes: &[u8]) -> ::std::io::Result<()> {
                $api::io::AsyncWriteExt::write_all(stream, bytes).await
            }
        }

        /// The current-thread scheduler with a set of tasks that stay with the thread.
        #[derive(Debug)]
        pub struct $local {
            runtime: $api::runtime::Runtime,
            tasks: $api::task::LocalSet,
        }

        impl $crate::Deferring for $local {
            fn start(threads: usize) -> Self {
                let runtime = $start(CurrentThread::builder(threads));
                Self { runtime, tasks: $api::task::LocalSet::new() }
            }

            fn run<F>(&self, root: F) -> F::Output
            where
                F: Future<Output: Send + 'static> + Send + 'static,
            {
                self.tasks.block_on(&self.runtime, root)
            }

            fn defer<F>(task: F)
            where
                F: Future<Output = ()> + Send + 'static,
            {
                drop($api::task::spawn_local(task));
            }
        }
    };
}
