//! `tot completions`: prints shell completion scripts.

use clap::Args;
use clap_complete::Shell;

use super::print::say;
use super::{CommandResult, command};

/// Print a completion script for your shell.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct CompletionsArguments {
    /// Shell to print the script for
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  tot completions bash >~/.local/share/bash-completion/completions/tot
  tot completions zsh >~/.zfunc/_tot            with ~/.zfunc in fpath
  tot completions fish >~/.config/fish/completions/tot.fish";

pub(super) fn run(arguments: &CompletionsArguments) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command(), "tot", &mut script);
    say(&String::from_utf8(script)?)
}
