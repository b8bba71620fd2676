//! The load test: 200 clients on 50 investigations over HTTP, each call of a kind that writes, and afterwards every
//! acknowledged one looked for in git. And the long run: a million cheap calls over stdio and over HTTP, with the memory
//! over time.
//!
//! It prints a table of figures and fails where a call was not accepted, a commit is not in the history, or git calls a
//! repository unsound. The short form runs in `cargo test`; the long ones by hand:
//!
//! ```sh
//! cargo test --release --test load -- --long      # a minute of load
//! cargo test --release --test load -- --million   # a million calls each way, some ten minutes
//! ```

#![allow(clippy::unwrap_used, reason = "a test that can't go on has failed")]
#![allow(clippy::print_stdout, reason = "the table of figures is what it is run for")]

#[allow(dead_code, reason = "the fault suite uses more of it")]
#[path = "../faults/figures.rs"]
mod figures;
mod million;
#[allow(dead_code, reason = "the fault suite uses more of it")]
#[path = "../faults/place.rs"]
mod place;
#[allow(dead_code, reason = "the integration tests use more of it")]
#[path = "../support/mod.rs"]
mod support;
mod team;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    if has("--list") {
        println!("load: test");
        return;
    }
    // A filter of `cargo test` that means other tests.
    if arguments.iter().any(|argument| !argument.starts_with('-') && !"load".contains(argument.as_str())) {
        return;
    }
    let problems = if has("--million") { million::run() } else { team::run(has("--long")) };
    for problem in problems.iter().take(20) {
        println!("{problem}");
    }
    if !problems.is_empty() {
        println!("{} problems", problems.len());
        std::process::exit(1);
    }
}
