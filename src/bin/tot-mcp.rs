//! The MCP server: arguments, then the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    tree_of_thoughts::cli::mcp(std::env::args_os())
}
