//! `tot util`: prints shell completions, writes manual pages, and lists, shows and checks rulesets.

mod man;
pub(super) mod ruleset;

use clap::Subcommand;
use clap_complete::Shell;

use super::CommandResult;
use super::print::say;

pub(super) const EXAMPLES: &str = "\
Examples:
  tot util completions bash >~/.local/share/bash-completion/completions/tot
  tot util completions zsh >~/.zfunc/_tot            with ~/.zfunc in fpath
  tot util completions fish >~/.config/fish/completions/tot.fish
  tot util man ~/.local/share/man
  tot util ruleset show review";

#[derive(Subcommand)]
pub(super) enum UtilCommand {
    /// Print a completion script for your shell
    #[command(after_long_help = EXAMPLES)]
    Completions {
        /// Shell to print the script for
        shell: Shell,
    },
    Man(man::ManArguments),
    /// List, show and check rulesets, the methods of investigation
    #[command(subcommand, after_long_help = ruleset::EXAMPLES)]
    Ruleset(ruleset::RulesetCommand),
}

pub(super) fn run(command: UtilCommand) -> CommandResult {
    match command {
        UtilCommand::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut super::command(), "tot", &mut script);
            say(&String::from_utf8(script)?)
        }
        UtilCommand::Man(arguments) => man::run(&arguments),
        UtilCommand::Ruleset(command) => ruleset::run(command),
    }
}
