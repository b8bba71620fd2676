//! The person's command: arguments, then the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    tree_of_thoughts::cli::tot(std::env::args_os())
}
