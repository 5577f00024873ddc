use super::{gid_t, pid_t, uid_t};
use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd};

/// Who was at the other side of a Unix socket when it was connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UCred {
    uid: uid_t,
    gid: gid_t,
    pid: Option<pid_t>,
}

impl UCred {
    /// The user.
    pub fn uid(&self) -> uid_t {
        self.uid
    }

    /// The group.
    pub fn gid(&self) -> gid_t {
        self.gid
    }

    /// The process, if the system tells: it does not of one in a namespace that cannot be seen.
    pub fn pid(&self) -> Option<pid_t> {
        self.pid
    }

    pub(super) fn of_peer(socket: impl AsFd) -> io::Result<Self> {
        let mut cred = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let mut len = mem::size_of::<libc::ucred>() as libc::socklen_t;
        // SAFETY: the descriptor is open for as long as `socket` is borrowed. The system writes at
        // most `len` bytes to `cred`, three integers of which every value is one, and to `len` how
        // many it has written. Both are ours until the call returns.
        let result = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut cred).cast(),
                &raw mut len,
            )
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        // The system says 0 if there is no such process in the namespace of the caller. It also
        // does so if there is no peer, and says -1 for the user then.
        Ok(Self { uid: cred.uid, gid: cred.gid, pid: (cred.pid > 0).then_some(cred.pid) })
    }
}
