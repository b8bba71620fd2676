//! `tot help`: explains topics that no single command covers, and shows the help for commands. If a topic and a command have the
//! same name, the topic is shown and refers to the command's `--help`. A topic is a Markdown file in `help/`. Each topic is also
//! a page of `tot util man`, and a test parses every command in it.

use std::process::ExitCode;

use anstyle::Style;
use clap::Args;
use clap::error::ErrorKind;

use super::help::commands;
use super::print::{columns, page, say, tell};
use super::{ExitResult, command, removed};
use crate::markdown::to_terminal;
use crate::text::one_line;

/// The topics, each with its name and Markdown text. The first line of the text is the title.
pub(super) const TOPICS: &[(&str, &str)] = &[
    ("method", include_str!("help/method.md")),
    ("server", include_str!("help/server.md")),
    ("evidence", include_str!("help/evidence.md")),
    ("git", include_str!("help/git.md")),
    ("sharing", include_str!("help/sharing.md")),
    ("review", include_str!("help/review.md")),
    ("publishing", include_str!("help/publishing.md")),
    ("scripts", include_str!("help/scripts.md")),
    ("words", include_str!("help/words.md")),
];

/// Explain a topic or a command. Without an argument, lists all topics and commands.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct HelpArguments {
    /// Topic or command
    #[arg(value_name = "TOPIC|COMMAND")]
    words: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  tot help            lists topics and commands
  tot help method     explains how an investigation works
  tot help commit     same as tot commit --help";

pub(super) fn run(arguments: &HelpArguments) -> ExitResult {
    if arguments.words.is_empty() {
        say(&listing())?;
    } else if let Some(help) = topic(&arguments.words).or_else(|| help_of(&arguments.words)) {
        page(&help)?;
    } else {
        let named = one_line(&arguments.words.join(" "));
        let unknown = || format!("unknown topic or command `{named}`\n\n{}", listing());
        tell(&format!("tot help: {}", removed(&arguments.words[0]).unwrap_or_else(unknown)));
        return Ok(ExitCode::from(2));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the title of a topic.
fn title(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_start_matches("# ")
}

/// Formats the named topic for the terminal. In a pipe, the Markdown is unchanged.
fn topic(words: &[String]) -> Option<String> {
    /// The maximum line width, since longer lines are hard to read.
    const WIDEST: usize = 90;
    let [name] = words else { return None };
    let (_, text) = TOPICS.iter().find(|(known, _)| known == name)?;
    Some(
        columns().map_or_else(|| (*text).to_owned(), |width| to_terminal(text, width.min(WIDEST), &|_| None)),
    )
}

fn listing() -> String {
    let topics: String =
        TOPICS.iter().map(|(name, text)| format!("  tot help {name:<12}{}\n", title(text))).collect();
    let commands = commands(&Style::new(), &Style::new());
    format!("Topics:\n{topics}\nCommands (for details, `tot help COMMAND`):\n\n{commands}")
}

/// Returns a command's `--help` text.
fn help_of(words: &[String]) -> Option<String> {
    let all = command();
    words.iter().try_fold(&all, |it, word| it.find_subcommand(word))?;
    let words = ["tot"].into_iter().chain(words.iter().map(String::as_str)).chain(["--help"]);
    let shown = command().try_get_matches_from(words).err()?;
    (shown.kind() == ErrorKind::DisplayHelp).then(|| shown.render().ansi().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{Outcome, RunStanding, Verdict};
    use crate::ruleset::builtin;
    use crate::service::project::Drift;

    /// Splits a line into words as a shell does. Pipes, redirections and comments are cut off.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quote = None;
        for c in line.chars() {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None, '#' | '|' | '<' | '>') if words.last().is_some_and(String::is_empty) => break,
                (None, ' ') => words.push(String::new()),
                (_, c) => words.last_mut().unwrap().push(c),
            }
        }
        assert_eq!(quote, None, "{line}");
        words.retain(|word| !word.is_empty());
        words
    }

    /// Returns the commands that begin with `tot`, from blocks and backquotes.
    fn commands(text: &str) -> Vec<&str> {
        let is_one = |line: &&str| *line == "tot" || line.starts_with("tot ");
        let (blocks, prose): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("    "));
        let inline = prose.iter().flat_map(|line| line.split('`').skip(1).step_by(2)).filter(is_one);
        blocks.iter().map(|line| line.trim()).filter(is_one).chain(inline).collect()
    }

    #[test]
    fn every_command_in_a_topic_is_one() {
        for (name, text) in TOPICS {
            let commands = commands(text);
            assert!(commands.len() > 4 || *name == "words", "{name} shows none");
            for line in commands {
                // A command's name alone need not be a complete call.
                let words = words(line);
                let all = command();
                let is_named =
                    words[1..].iter().try_fold(&all, |it, word| it.find_subcommand(word)).is_some();
                if let (Err(error), false) = (command().try_get_matches_from(&words), is_named) {
                    let is_help = error.kind() == ErrorKind::DisplayHelp;
                    assert!(is_help, "{name}: {line}: {error}");
                }
            }
        }
    }

    #[test]
    fn every_word_for_a_state_is_explained_on_one_screen_and_there_are_at_most_twenty() {
        let text = include_str!("help/words.md");
        let words: Vec<&str> =
            text.split("- **").skip(1).filter_map(|line| line.split("**").next()).collect();
        assert!(words.len() <= 20 && text.lines().count() <= 24, "{words:?}");
        let is_told = |label: &str| {
            let label = label.to_lowercase();
            words.iter().any(|word| label.starts_with(word)) || text.contains(&format!("*{label}*"))
        };
        let verdicts = [
            Verdict::Refuted,
            Verdict::Undermined,
            Verdict::Contested,
            Verdict::StoppedEarly,
            Verdict::RulesUnmet,
            Verdict::NotChecked,
            Verdict::AuthorOnly,
            Verdict::SecondAgent,
            Verdict::Corrected,
            Verdict::OtherSession,
            Verdict::Person,
        ];
        let (running, ended) = ([Outcome::Running, Outcome::Reopened], [Outcome::Ended, Outcome::Continued]);
        let runs =
            [RunStanding::NeverRepeated, RunStanding::CouldNotRun, RunStanding::Same, RunStanding::Holds];
        let drifts = [Drift::Unchanged, Drift::Changed, Drift::Gone, Drift::Unchecked];
        let labels = verdicts.map(Verdict::label).into_iter();
        let labels = labels.chain(running.into_iter().chain(ended).map(Outcome::label));
        let labels = labels.chain(runs.map(RunStanding::label)).chain(drifts.iter().map(Drift::as_str));
        labels.for_each(|label| assert!(is_told(label), "{label}"));
        for built_in in builtin::all() {
            let states = &built_in.ruleset.states;
            // Where several states have a role, each has a name of its own.
            let is_alone = |role| states.iter().filter(|other| other.role == role).count() == 1;
            let states = states.iter().filter(|state| !state.refutes && is_alone(state.role));
            states.for_each(|it| assert!(is_told(&built_in.ruleset.label_of(&it.name)), "{}", it.name));
        }
    }

    #[test]
    fn a_topic_has_a_title_and_fits_a_terminal() {
        for (name, text) in TOPICS {
            assert!(text.starts_with("# "), "{name} has no title");
            text.lines().for_each(|line| assert!(line.chars().count() <= 80, "{name}: {line}"));
        }
    }

    #[test]
    fn the_help_of_a_command_is_that_of_its_option() {
        let help = help_of(&["util", "ruleset", "show"].map(str::to_owned)).unwrap();
        assert!(help.contains("tot util ruleset show"), "{help}");
        assert_eq!(help_of(&["none".to_owned()]), None);
    }
}
