//! `tot util`: prints shell completions, writes manual pages, and lists, shows and checks rulesets.

mod man;
pub(super) mod ruleset;

use clap::{Args, Subcommand};
use clap_complete::Shell;

use super::print::say;
use super::{CommandResult, command};

/// Print shell completions, write manual pages, or list, show and check rulesets.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct UtilArguments {
    #[command(subcommand)]
    command: UtilCommand,
}

const EXAMPLES: &str = "\
Examples:
  tot util completions bash >~/.local/share/bash-completion/completions/tot
  tot util man ~/.local/share/man
  tot util ruleset show review";

#[derive(Subcommand)]
enum UtilCommand {
    /// Print a completion script for your shell
    #[command(after_long_help = COMPLETIONS)]
    Completions {
        /// Shell to print the script for
        shell: Shell,
    },
    Man(man::ManArguments),
    /// List, show and check rulesets, the methods of investigation
    Ruleset(ruleset::RulesetArguments),
}

const COMPLETIONS: &str = "\
Examples:
  tot util completions bash >~/.local/share/bash-completion/completions/tot
  tot util completions zsh >~/.zfunc/_tot            with ~/.zfunc in fpath
  tot util completions fish >~/.config/fish/completions/tot.fish";

pub(super) fn run(arguments: UtilArguments) -> CommandResult {
    match arguments.command {
        UtilCommand::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut command(), "tot", &mut script);
            say(&String::from_utf8(script)?)
        }
        UtilCommand::Man(arguments) => man::run(&arguments),
        UtilCommand::Ruleset(arguments) => ruleset::run(arguments),
    }
}
