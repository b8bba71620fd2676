//! The output of `tot --help`: the commands grouped by purpose. clap cannot group subcommands, so the list is written out here. A
//! test checks that the list is complete.

use anstyle::Style;
use clap::Command;
use clap::builder::styling::Styles;

/// Commands with the line that describes them.
type HelpRow = (&'static [&'static str], &'static str);

/// The commands that check something, each with what tells it from the others. The topic `review` shows them too.
const CHECKS: &[HelpRow] = &[
    (&["check"], "check the files, the history and the sign-offs"),
    (&["review"], "go through what is new, riskiest first"),
    (&["impact"], "name the conclusions that a change touches"),
    (&["rerun"], "repeat the captured commands"),
    (&["approve"], "add your name, as a signed tag"),
];

/// The commands by purpose.
const GROUPS: &[(&str, &[HelpRow])] = &[
    (
        "Look",
        &[
            (&["list", "status"], "list investigations; sum up one in five lines"),
            (&["show"], "show an investigation or a node"),
            (&["log", "diff"], "show the history; compare two commits"),
            (&["search"], "search the text of all investigations"),
        ],
    ),
    (
        "Work",
        &[
            (&["start", "end"], "start an investigation; end it with a conclusion"),
            (&["next", "propose"], "show or claim what comes next; propose nodes"),
            (&["commit"], "store a result: in your editor, or in one line"),
            (&["amend"], "correct a node's text or state, or the conclusion"),
            (&["run", "attach"], "run a command as evidence; attach files to a node"),
        ],
    ),
    ("Check", CHECKS),
    (
        "Discuss",
        &[
            (&["comment"], "comment on a node or the whole investigation"),
            (&["object", "resolve"], "object to a node; resolve an objection"),
        ],
    ),
    (
        "Share",
        &[
            (&["remote", "sync", "clone"], "share investigations through any git remote"),
            (&["import", "export"], "read or write an investigation as one file"),
            (&["report"], "build the static site, or open it in your browser"),
        ],
    ),
    (
        "Set up",
        &[
            (&["setup", "mcp"], "configure and check a client; run the server"),
            (&["help", "demo"], "explain a topic or a command; play a demo"),
            (&["util"], "shell completions, manual pages, rulesets"),
        ],
    ),
];

/// Options accepted before or after any command.
const OPTIONS: &[(&str, &str)] = &[
    ("-i, --investigation", "an id, or a part of one; also TOT_INVESTIGATION"),
    ("--root DIR", "investigations folder; also TOT_ROOT"),
    ("--color WHEN", "always, never, or auto; also NO_COLOR, CLICOLOR_FORCE"),
    ("--help, --version", "show this help; show the version"),
];

/// Formats the command groups with the given styles for headings and names.
pub(super) fn commands(heading: &Style, literal: &Style) -> String {
    let row = |(names, line): &HelpRow| format!("  {literal}{:<20}{literal:#} {line}\n", names.join(", "));
    let group = |(title, rows): &(&str, &[HelpRow])| {
        format!("{heading}{title}{heading:#}\n{}", rows.iter().map(row).collect::<String>())
    };
    GROUPS.iter().map(group).collect()
}

/// Returns clap's help template for `tot`.
pub(super) fn template() -> String {
    let styles = Styles::styled();
    let (heading, literal) = (styles.get_header(), styles.get_literal());
    let mut text = "{about}\n\n{usage-heading} {usage}\n\n".to_owned();
    text.push_str(&commands(heading, literal));
    text.push_str(&format!("{heading}Options{heading:#}\n"));
    for (option, line) in OPTIONS {
        text.push_str(&format!("  {literal}{option:<20}{literal:#} {line}\n"));
    }
    text + "\n`tot COMMAND --help` explains a command and shows examples. With --json, most\n\
            commands print one JSON document: `tot help scripts`."
}

/// Adds to the help of a command that checks something what the other ones check.
pub(super) fn with_other_checks(command: Command) -> Command {
    let others = CHECKS.iter().filter(|(names, _)| !names.contains(&command.get_name()));
    let others: Vec<String> =
        others.map(|(names, line)| format!("`tot {}` ({line})", names.join(", "))).collect();
    if others.len() == CHECKS.len() {
        return command;
    }
    let about = command.get_long_about().or(command.get_about()).cloned().unwrap_or_default();
    command.long_about(format!("{about}\n\nOther checks: {}.", others.join(", ")))
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;
    use crate::cli::place::EVERYWHERE;
    use crate::cli::topics::TOPICS;
    use crate::cli::{command, removed};

    #[test]
    fn every_command_is_listed_once() {
        let mut listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, rows)| rows.iter())
            .flat_map(|(names, _)| names.iter().copied())
            .collect();
        listed.sort_unstable();
        let command = command();
        let mut there: Vec<&str> =
            command.get_subcommands().filter(|it| !it.is_hide_set()).map(Command::get_name).collect();
        there.sort_unstable();
        assert_eq!(listed, there);
    }

    #[test]
    fn every_option_is_listed() {
        let command = command();
        let mut options: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
        options.extend(["help", "version"]);
        let text = template();
        options.iter().for_each(|option| assert!(text.contains(&format!("--{option}")), "{option}"));
        // clap accepts every listed option.
        let listed = OPTIONS.iter().flat_map(|(names, _)| names.split([' ', ',']));
        for option in listed.filter_map(|word| word.strip_prefix("--")) {
            assert!(options.contains(&option), "{option}");
        }
    }

    #[test]
    fn the_help_fits_a_screen() {
        let help = command().render_long_help().to_string();
        assert!(help.lines().count() <= 40, "{help}");
        help.lines().for_each(|line| assert!(line.chars().count() <= 80, "{line}"));
    }

    #[test]
    fn each_check_is_told_from_the_others() {
        let topic = include_str!("help/review.md");
        for (names, line) in CHECKS {
            let shown = format!("    {:<14} # {line}\n", format!("tot {}", names[0]));
            assert!(topic.contains(&shown), "{shown}");
            let help = command().find_subcommand(names[0]).unwrap().get_long_about().unwrap().to_string();
            let named = CHECKS
                .iter()
                .filter(|(others, line)| help.contains(&format!("`tot {}` ({line})", others[0])));
            assert_eq!(named.count(), CHECKS.len() - 1, "{help}");
        }
    }

    #[test]
    fn no_help_names_a_command_of_an_earlier_version() {
        let mut all = command();
        all.build();
        let helps = all.get_subcommands_mut().map(|it| it.render_long_help().to_string());
        for text in helps.chain(TOPICS.iter().map(|(_, text)| (*text).to_owned())) {
            let words: Vec<&str> =
                text.split(|c: char| c.is_whitespace() || c == '`').filter(|word| !word.is_empty()).collect();
            for pair in words.windows(2).filter(|pair| pair[0] == "tot") {
                assert!(removed(pair[1]).is_none(), "tot {}: {text}", pair[1]);
            }
        }
    }

    #[test]
    fn the_options_of_all_commands_stand_apart() {
        fn check(command: &Command) {
            for arg in command.get_arguments() {
                let name = arg.get_id().as_str();
                let is_everywhere =
                    ["root", "investigation", "json", "color", "project", "no_project"].contains(&name);
                let is_apart = arg.get_help_heading() == Some(EVERYWHERE);
                assert_eq!(is_apart, is_everywhere, "{} --{name}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        let mut all = command();
        all.build();
        all.get_subcommands().for_each(check);
    }

    #[test]
    fn the_help_of_each_command_ends_in_examples() {
        for command in command().get_subcommands() {
            let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:"), "{} has none", command.get_name());
        }
    }
}
