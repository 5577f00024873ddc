use super::{gid_t, pid_t, uid_t};
use std::io;
use std::os::fd::AsFd;

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

    /// The process, if the system tells.
    pub fn pid(&self) -> Option<pid_t> {
        self.pid
    }

    pub(super) fn of_peer(socket: impl AsFd) -> io::Result<Self> {
        let cred = rustix::net::sockopt::socket_peercred(socket)?;
        Ok(Self {
            uid: cred.uid.as_raw(),
            gid: cred.gid.as_raw(),
            pid: Some(cred.pid.as_raw_nonzero().get()),
        })
    }
}
