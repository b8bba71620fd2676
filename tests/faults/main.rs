//! The fault suite: real servers, killed at random instants and at every step that touches the file system, with eight
//! writers on one repository, and git as the judge of what they leave behind.
//!
//! It prints a table of figures and fails where one of them should be zero and is not. The short form runs in
//! `cargo test`; the long one, with more than 1,000 kills, takes minutes:
//!
//! ```sh
//! cargo test --release --test faults -- --long
//! ```
//!
//! A name as an argument (`writers`, `beside`, `random`, `steps`) runs that part alone. `TOT_FAULTS_SEED` repeats the instants of
//! a run as far as the machine's scheduler allows; each run prints its seed.

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]
#![allow(clippy::print_stdout, reason = "the table of figures is what it is run for")]

mod beside;
mod figures;
mod place;
mod random;
mod steps;
#[allow(dead_code, reason = "the integration tests use more of it")]
#[path = "../support/mod.rs"]
mod support;
mod writers;

use std::time::Instant;

use figures::Figures;

/// The extent of a run.
#[derive(Clone, Copy)]
pub struct Form {
    /// True for the long form.
    pub long: bool,
    /// The seed of the random instants.
    pub seed: u64,
}

/// A part of the suite, which returns its counters.
type Part = (&'static str, fn(Form) -> Vec<Figures>);

const PARTS: &[Part] =
    &[("writers", writers::run), ("beside", beside::run), ("random", random::run), ("steps", steps::run)];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        PARTS.iter().for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let long = arguments.iter().any(|argument| argument == "--long")
        || std::env::var("TOT_FAULTS").is_ok_and(|form| form == "long");
    let seed = std::env::var("TOT_FAULTS_SEED").ok().and_then(|seed| seed.parse().ok());
    let form = Form { long, seed: seed.unwrap_or_else(figures::any_seed) };
    let since = Instant::now();
    let mut rows = Vec::new();
    for (name, part) in PARTS {
        if wanted.is_empty() || wanted.iter().any(|wanted| name.contains(wanted.as_str())) {
            rows.extend(part(form));
        }
    }
    if rows.is_empty() {
        return;
    }
    println!("\n{}", figures::table(&rows));
    println!("seed {}, {:.0} s", form.seed, since.elapsed().as_secs_f64());
    let faults: Vec<_> = rows.iter().flat_map(|row| &row.faults).collect();
    for (fault, problem) in faults.iter().take(50) {
        println!("\n{fault:?}: {problem}");
    }
    if !faults.is_empty() {
        println!("\n{} problems", faults.len());
        std::process::exit(1);
    }
}
