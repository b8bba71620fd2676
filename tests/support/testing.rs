//! What tests have in common, those in `src` and those in `tests`: where their folders lie, and how much random tests try.
//!
//! `TOT_CASES=all` tries everything, with new random values in each run. `TOT_CASES=2000` tries so many, and without it each
//! random test takes a small sample: the same in every run.

use std::sync::LazyLock;

use proptest::test_runner::{Config, RngSeed};
use tempfile::TempDir;

/// Returns whether random tests try everything.
pub fn tries_all() -> bool {
    std::env::var("TOT_CASES").is_ok_and(|cases| cases == "all")
}

/// Returns the number of cases to try out of `all`: all, the requested number, or an eighth.
pub fn cases(all: u32) -> u32 {
    cases_or(all, all.div_ceil(8))
}

/// Returns the requested number of cases out of `all`, or `sample` if none was requested.
pub fn cases_or(all: u32, sample: u32) -> u32 {
    let asked = std::env::var("TOT_CASES").ok().and_then(|cases| cases.parse().ok());
    if tries_all() { all } else { asked.map_or(sample, |asked: u32| asked.min(all)) }
}

/// Runs a random test with this many cases or a sample. Failures are turned into tests manually, so nothing is written
/// into the work tree.
pub fn sampled(all: u32) -> Config {
    let rng_seed = if tries_all() { RngSeed::Random } else { RngSeed::Fixed(1) };
    Config { cases: cases(all), rng_seed, failure_persistence: None, ..Config::default() }
}

/// Creates a folder that is removed after the test. It is in memory if the machine has room there, since most of the
/// cost of tests on a disk is creating and removing small files. `TMPDIR` sets another location.
pub fn folder() -> TempDir {
    static IS_IN_MEMORY: LazyLock<bool> = LazyLock::new(|| {
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
        std::env::var_os("TMPDIR").is_none() && mounts.lines().any(is_memory_with_room)
    });
    let in_memory = if *IS_IN_MEMORY { tempfile::tempdir_in(MEMORY).ok() } else { None };
    in_memory.unwrap_or_else(|| tempfile::tempdir().unwrap())
}

const MEMORY: &str = "/dev/shm";

/// Returns whether a line of `/proc/mounts` describes [`MEMORY`] with 2 GiB or more. Containers often have 64 MiB.
fn is_memory_with_room(line: &str) -> bool {
    let [_, place, kind, options, ..] = line.split(' ').collect::<Vec<_>>()[..] else { return false };
    let size = options.split(',').find_map(|option| option.strip_prefix("size=")?.strip_suffix('k'));
    // Without a limit, it has half of the machine's memory.
    let has_room = size.is_none_or(|size| size.parse().is_ok_and(|size: u64| size >= 2 << 20));
    place == MEMORY && kind == "tmpfs" && has_room
}
