//! The site generator: arguments, then the library.

use std::process::ExitCode;

/// An eighth less processor time for 1,000 nodes than with glibc's, for a little more memory (87 MB in place of 73).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tree_of_thoughts::cli::report(std::env::args_os())
}
