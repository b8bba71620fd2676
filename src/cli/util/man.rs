//! `tot util man`: writes manual pages for all commands.

use std::fs;
use std::path::PathBuf;

use clap::Args;

use crate::cli::print::say;
use crate::cli::{CommandResult, command};
use crate::text::counted;

/// Write the manual pages into a folder for `man`: tot.1 and a page per command, in man1/. `tot help` has the topics.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(in crate::cli) struct ManArguments {
    /// Folder listed by `manpath`; created if missing
    dir: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  tot util man ~/.local/share/man
  tot util man pages && man -M pages tot-commit";

pub(super) fn run(ManArguments { dir }: &ManArguments) -> CommandResult {
    let failed = |error: std::io::Error| format!("can't write to {}: {error}", dir.display());
    let commands = dir.join("man1");
    fs::create_dir_all(&commands).map_err(failed)?;
    clap_mangen::generate_to(command(), &commands).map_err(failed)?;
    let written = counted(pages(&command()), "page");
    say(&format!("{written} in {0}: man -M {0} tot\n", dir.display()))
}

/// Returns the number of pages for a command and its subcommands.
fn pages(command: &clap::Command) -> usize {
    1 + command.get_subcommands().filter(|it| !it.is_hide_set()).map(pages).sum::<usize>()
}
