use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

tokio::task_local! {
    static NAME: &'static str;
}

#[tokio::test]
async fn macros_find_the_crate() {
    let sleeper = tokio::spawn(tokio::time::sleep(Duration::from_millis(1)));
    tokio::pin!(sleeper);
    let joined = tokio::select! {
        joined = &mut sleeper => joined.is_ok(),
        () = std::future::pending() => false,
    };
    assert_eq!(tokio::join!(async { 1 }, async { joined }), (1, true));
    let both: Result<_, ()> = tokio::try_join!(async { Ok(1) }, async { Ok(2) });
    assert_eq!(both, Ok((1, 2)));
    assert_eq!(NAME.scope("inside", async { NAME.get() }).await, "inside");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_echoes() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await?;
        let (mut reader, mut writer) = stream.split();
        tokio::io::copy(&mut reader, &mut writer).await
    });
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"hello").await?;
    stream.shutdown().await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    assert_eq!((text.as_str(), server.await??), ("hello", 5));
    Ok(())
}

#[test]
fn a_function_gets_a_runtime() {
    #[tokio::main(flavor = "current_thread")]
    async fn run() -> usize {
        tokio::task::spawn_blocking(|| 6 * 7).await.unwrap()
    }
    assert_eq!(run(), 42);
}
