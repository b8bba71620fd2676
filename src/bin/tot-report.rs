//! The site generator: arguments, then the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    tree_of_thoughts::cli::report(std::env::args_os())
}
