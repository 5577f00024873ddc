//! The contenders of the fixtures.

use palio::contender::{Kind, Track};
use palio::report::model::Contender;

#[derive(Clone, Copy)]
pub(super) struct Racer {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) language: &'static str,
    pub(super) kind: Kind,
    pub(super) track: Track,
    pub(super) version: &'static str,
    pub(super) toolchain: &'static str,
    /// Time of an iteration relative to the course's base: fork-join rows, async rows.
    pub(super) pace: [f64; 2],
    /// How many of the threads it keeps busy, from 0 to 1.
    pub(super) greed: f64,
}

const RUSTC: &str = "rustc 1.95.0";
pub(super) const SERIAL: Racer =
    racer("serial", "No runtime", "Rust", Kind::Baseline, "1.0.0", RUSTC, [0.9, 0.5], 1.0);
pub(super) const TOKIO_MT: Racer = racer(
    "tokio-mt",
    "Tokio, multi-thread",
    "Rust",
    Kind::Async,
    "1.54.1",
    RUSTC,
    [11.0, 1.0],
    0.93,
);
pub(super) const TOKIO_CT: Racer = racer(
    "tokio-ct",
    "Tokio, current-thread",
    "Rust",
    Kind::Async,
    "1.54.1",
    RUSTC,
    [6.1, 0.62],
    1.0,
);
pub(super) const SMOL: Racer =
    racer("smol", "smol", "Rust", Kind::Async, "2.0.2", RUSTC, [14.0, 1.35], 0.8);
pub(super) const RAYON: Racer =
    racer("rayon", "Rayon", "Rust", Kind::ForkJoin, "1.12.0", RUSTC, [1.0, 1.0], 0.98);
pub(super) const GO: Racer =
    racer("go", "Go", "Go", Kind::GreenThreads, "go1.26.1", "go1.26.1", [9.8, 1.61], 0.7);
pub(super) const ONETBB: Racer =
    racer("onetbb", "oneTBB", "C++", Kind::ForkJoin, "2021.8.0", "g++ 12.2.0", [2.2, 1.0], 0.99);
pub(super) const OPENMP: Racer = racer(
    "openmp",
    "OpenMP tasks",
    "C++",
    Kind::ForkJoin,
    "libgomp 12.2.0",
    "g++ 12.2.0",
    [42.0, 1.0],
    1.0,
);
pub(super) const LIBFORK: Racer =
    racer("libfork", "libfork", "C++", Kind::ForkJoin, "3.8.0", "g++ 12.2.0", [0.7, 1.2], 1.0);
pub(super) const TASKFLOW: Racer = racer(
    "taskflow",
    "Taskflow",
    "C++",
    Kind::ForkJoin,
    "3.11.0",
    "g++ 12.2.0",
    [120.0, 31.0],
    0.9,
);
pub(super) const FORTE: Racer =
    racer("forte", "Forte", "Rust", Kind::ForkJoin, "1.0.0-beta.3", RUSTC, [1.02, 1.3], 0.97);
pub(super) const TUNED: Racer = Racer {
    track: Track::Tuned,
    ..racer(
        "tokio-mt-pinned",
        "Tokio, pinned",
        "Rust",
        Kind::Async,
        "1.54.1",
        RUSTC,
        [10.2, 0.92],
        1.0,
    )
};

#[expect(clippy::too_many_arguments, reason = "a table of literals reads best in one line each")]
const fn racer(
    id: &'static str,
    name: &'static str,
    language: &'static str,
    kind: Kind,
    version: &'static str,
    toolchain: &'static str,
    pace: [f64; 2],
    greed: f64,
) -> Racer {
    Racer { id, name, language, kind, track: Track::Stock, version, toolchain, pace, greed }
}

impl Racer {
    pub(super) fn contender(&self) -> Contender {
        Contender {
            id: self.id.into(),
            name: self.name.into(),
            language: self.language.into(),
            kind: self.kind,
            track: self.track,
            homepage: format!("https://example.org/{}", self.id),
            licence: "MIT".into(),
            runtime: Some(self.id.split('-').next().unwrap_or(self.id).into()),
            version: Some(self.version.into()),
            toolchain: Some(self.toolchain.into()),
            flags: Some(
                if self.language == "Rust" { "opt-level=3 lto=thin" } else { "-O3" }.into(),
            ),
            absent: None,
            notes: (self.id == "rayon").then(|| {
                "its pool is global and cannot be stopped, so cold rows include no stop".into()
            }),
        }
    }
}
