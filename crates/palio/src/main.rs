//! The command `palio`; all of it is in the library's `cmd`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    palio::cmd::main()
}
