use super::ToSocketAddrs;
use super::addr::resolve;
use std::io;
use std::net::SocketAddr;

/// Looks up the addresses of a host. The port is a part of the name, and of the addresses.
///
/// The system is asked on a thread of the blocking pool.
///
/// # Errors
/// Those of the system; a host that is not known is one.
///
/// # Cancellation safety
/// A lookup that has begun on its thread goes on there, for nobody.
///
/// ```
/// # #[trefoil::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let mut addresses = trefoil::net::lookup_host("127.0.0.1:80").await?;
/// assert_eq!(addresses.next().unwrap().port(), 80);
/// # Ok(())
/// # }
/// ```
pub async fn lookup_host<T: ToSocketAddrs>(
    host: T,
) -> io::Result<impl Iterator<Item = SocketAddr>> {
    resolve(host.name()).await
}
