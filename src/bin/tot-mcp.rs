//! The MCP server: arguments, then the library.

use std::process::ExitCode;

/// Keeps the memory of a long run whole; Cargo.toml says why.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tree_of_thoughts::cli::mcp(std::env::args_os())
}
