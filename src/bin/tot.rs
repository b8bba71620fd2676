//! The command-line interface for people. Passes its arguments to the library.

use std::process::ExitCode;

/// Avoids memory fragmentation in long runs. See `Cargo.toml` for the reason.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tree_of_thoughts::cli::tot(std::env::args_os())
}
