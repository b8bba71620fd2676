//! `tot util man`: writes manual pages for all commands and help topics.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use roff::{Inline, Roff, bold, roman};

use crate::cli::print::say;
use crate::cli::topics::{TOPICS, title};
use crate::cli::{CommandResult, command};
use crate::text::counted;

/// Write the manual pages into a folder for `man`: tot.1 and a page per command in man1/, and a page per topic of tot help in
/// man7/.
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
    let (commands, topics) = (dir.join("man1"), dir.join("man7"));
    fs::create_dir_all(&commands).map_err(failed)?;
    fs::create_dir_all(&topics).map_err(failed)?;
    clap_mangen::generate_to(command(), &commands).map_err(failed)?;
    for (name, text) in TOPICS {
        fs::write(topics.join(format!("tot-{name}.7")), topic(name, text)).map_err(failed)?;
    }
    let written = counted(pages(&command()) + TOPICS.len(), "page");
    say(&format!("{written} in {0}: man -M {0} tot\n", dir.display()))
}

/// Returns the number of pages for a command and its subcommands.
fn pages(command: &clap::Command) -> usize {
    1 + command.get_subcommands().filter(|it| !it.is_hide_set()).map(pages).sum::<usize>()
}

/// Formats a topic as a manual page.
fn topic(name: &str, text: &str) -> String {
    let mut page = Roff::new();
    page.control("TH", [&format!("tot-{name}"), "7", " ", "tot", "Tree of Thoughts"]);
    page.control("SH", ["NAME"]);
    page.text([roman(format!("tot-{name} - {}", title(text)))]);
    // The lines of the current paragraph, joined before they are written.
    let mut paragraph: Vec<&str> = Vec::new();
    let mut is_block = false;
    for line in text.lines().skip(1).chain([""]) {
        let in_block = line.starts_with("    ") || (is_block && line.is_empty());
        if line.is_empty() || in_block != is_block || line.starts_with("## ") {
            end(&mut page, &mut paragraph);
        }
        match (is_block, in_block) {
            (false, true) => drop(page.control("PP", []).control("nf", []).control("RS", ["4"])),
            (true, false) => drop(page.control("RE", []).control("fi", [])),
            _ => {}
        }
        is_block = in_block;
        match (line.strip_prefix("## "), in_block) {
            (Some(heading), _) => drop(page.control("SH", [heading])),
            (None, true) => drop(page.text([roman(line.get(4..).unwrap_or_default())])),
            (None, false) if !line.is_empty() => paragraph.push(line),
            (None, false) => {}
        }
    }
    end(&mut page, &mut paragraph);
    if is_block {
        page.control("RE", []).control("fi", []);
    }
    page.control("SH", ["SEE ALSO"]);
    let others: Vec<String> = TOPICS
        .iter()
        .filter(|(other, _)| *other != name)
        .map(|(other, _)| format!("tot-{other}(7)"))
        .collect();
    page.text([roman(format!("tot(1), {}", others.join(", ")))]);
    page.render()
}

/// Writes the paragraph, with backquoted text in bold.
fn end(page: &mut Roff, paragraph: &mut Vec<&str>) {
    let text = std::mem::take(paragraph).join(" ");
    if !text.is_empty() {
        let inline = |(number, part): (usize, &str)| if number % 2 == 1 { bold(part) } else { roman(part) };
        let inlines: Vec<Inline> = text.split('`').enumerate().map(inline).collect();
        page.control("PP", []).text(inlines);
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn a_topic_is_a_page() {
        let text = "# A title\n\nOf `tot list` and\nmore.\n\n## Heading\n\nSee:\n\n    tot show R1.A\n\n    tot log\n\nThe end.\n";
        let page = topic("some", text);
        assert_snapshot!(page.split_once("SEE ALSO").unwrap().0, @r#"
            .ie \n(.g .ds Aq \(aq
            .el .ds Aq '
            .TH tot-some 7 " " tot "Tree of Thoughts"
            .SH NAME
            tot\-some \- A title
            .PP
            Of \fBtot list\fR and more.
            .SH Heading
            .PP
            See:
            .PP
            .nf
            .RS 4
            tot show R1.A

            tot log

            .RE
            .fi
            .PP
            The end.
            .SH "
            "#);
    }
}
