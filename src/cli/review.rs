//! `tot review`: goes through the changes since a person's last review.

use std::io::{self, IsTerminal, Write as _};
use std::path::{Path, PathBuf};

use anstyle::Style;
use clap::Args;
use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers, read};
use crossterm::terminal;
use serde_json::json;

use super::approve::sign;
use super::comment::{CommentRequest, write};
use super::place::{Common, EVERYWHERE, Location};
use super::print::{columns, page, say_fields};
use super::screen::{BAD, BOLD, DOUBT, Screen, assessed, doubts, section, styled};
use super::{CommandResult, is_person, say};
use crate::assess::{Assessment, Doubt};
use crate::domain::{CommentKind, DRAFT, Investigation, NodeId};
use crate::report::review::{ReviewEntry, Risk, review};
use crate::service::project::{Project, ProjectEvidence};
use crate::service::remote::{GitProgram, SEEN};
use crate::service::signoff::{self, SignOffDecision};
use crate::store::{Snapshot, StoreError, StoreErrorKind};
use crate::text::{counted, made_visible, one_line, visible};

/// Go through what is new in an investigation since your last review, riskiest first.
///
/// The order: contested and unconfirmed answers, a new conclusion, objections, warnings, missing evidence, reversed states, and the
/// rest. At a terminal, items are shown one by one and you answer with keys; in a pipe, all are printed.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct ReviewArguments {
    /// Show what is new since this commit, branch or tag; default: since you last marked the investigation as seen
    #[arg(long, value_name = "REV")]
    since: Option<String>,
    /// Mark the current commit as seen, without asking. The mark is the local reference refs/tot/seen
    #[arg(long)]
    mark: bool,
    /// Project whose files are cited; default: the repository around the current folder
    #[arg(long, value_name = "DIR", help_heading = EVERYWHERE)]
    project: Option<PathBuf>,
    /// Print everything, even at a terminal
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
Keys: n next, p previous, o open the node, c comment, j object, a approve, m mark as seen, q quit

Examples:
  tot review                        the current investigation
  tot review --since ended/1        what is new since it first ended
  tot review --mark --print         print what is new, and mark it as seen";

pub(super) fn run(arguments: &ReviewArguments) -> CommandResult {
    let place = arguments.common.place()?;
    let path = place.folder()?;
    let after = place.store.load(&path)?;
    let before = match &arguments.since {
        Some(rev) => Some(place.store.load_at(&path, rev)?),
        None => match place.store.load_at(&path, SEEN) {
            Ok(before) => Some(before),
            Err(StoreError { kind: StoreErrorKind::UnknownRevision, .. }) => None,
            Err(error) => return Err(error.into()),
        },
    };
    let project = match &arguments.project {
        Some(dir) => Some(Project::around(dir)?),
        None => Project::here(),
    };
    let evidence = project.map(|project| project.evidence_for(&after.investigation)).unwrap_or_default();
    let screen = Screen { columns: columns() };
    let look = Look { place: &place, path: &path, before: before.as_ref(), after: &after, evidence, screen };
    let items = look.items();
    if arguments.common.json {
        say_fields(&json!({
            "sessionId": after.investigation.meta().id,
            "since": before.as_ref().map(|before| before.head.to_string()),
            "head": after.head.to_string(),
            "verdict": look.verdict(),
            "wouldOverturn": look.doubts(),
            "items": items,
        }))?;
    } else if arguments.print || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let each: Vec<String> = items.iter().map(|item| block(item, look.screen)).collect();
        say(&format!("{}\n{}", look.head(&items), each.concat()))?;
    } else {
        return look.walk(&items, arguments.mark);
    }
    if arguments.mark {
        GitProgram::find(is_person())?.mark_seen(&path, after.head)?;
    }
    Ok(())
}

/// The state under review.
struct Look<'a> {
    place: &'a Location,
    path: &'a Path,
    before: Option<&'a Snapshot>,
    after: &'a Snapshot,
    evidence: ProjectEvidence,
    screen: Screen,
}

impl Look<'_> {
    fn items(&self) -> Vec<ReviewEntry> {
        let after = self.after.investigation.as_ref();
        let before = self.before.map(|before| before.investigation.as_ref());
        review(before, after, self.after.rules().as_ref(), &self.evidence)
    }

    fn assessed(&self) -> Assessment<'_> {
        assessed(self.after).with_inputs(self.evidence.inputs.as_ref())
    }

    fn doubts(&self) -> Vec<Doubt> {
        self.assessed().doubts(&|pin| self.evidence.lost(pin))
    }

    fn verdict(&self) -> String {
        let sign_offs = signoff::looked_up(&self.place.store, self.after, is_person());
        self.assessed().sentence(&sign_offs.signed())
    }

    /// Formats the heading, with the number of items.
    fn head(&self, items: &[ReviewEntry]) -> String {
        let investigation = self.after.investigation.as_ref();
        let since = match self.before {
            None => "nothing is marked as seen yet".to_owned(),
            Some(before) => format!("since {}", &before.head.to_string()[..10]),
        };
        let nodes = items.iter().filter(|item| item.node.is_some()).count();
        let of = counted(investigation.len(), "node");
        let told = match items.is_empty() {
            true => format!("Nothing new: {since}."),
            false => format!("{nodes} of {of} to review; {since}."),
        };
        let lines = [investigation.meta().title.as_str(), &self.verdict(), &told]
            .map(|text| self.screen.wrapped(text, 0));
        let checks = self.assessed().checks(&|pin| self.evidence.lost(pin));
        let doubts = doubts(&checks, self.place.named(), self.screen);
        lines.concat().join("\n") + "\n" + &section("Check it yourself", &doubts)
    }

    /// Shows the items one by one and handles the keys.
    fn walk(&self, items: &[ReviewEntry], mark: bool) -> CommandResult {
        let git = GitProgram::find(is_person())?;
        say(&format!("{}\n", self.head(items)))?;
        let mut at = 0;
        let mut is_new = true;
        while let Some(item) = items.get(at) {
            if is_new {
                say(&format!("{}\n", block(item, self.screen)))?;
            }
            is_new = true;
            let answer = |line: &str| say(&format!("\r{line}\n"));
            let asked = format!(
                "({}/{}) [n]ext [p]revious [o]pen [c]omment ob[j]ect [a]pprove [m]ark [q]uit? ",
                at + 1,
                items.len()
            );
            say(&styled(BOLD, &asked))?;
            let node = item.node.as_ref();
            let key = pressed()?;
            say(&format!("{}\n", visible(key)))?;
            match key {
                'n' | ' ' | '\n' => at += 1,
                'p' => at = at.saturating_sub(1),
                'o' => page(&format!("{}\n", self.whole(item)))?,
                'c' | 'j' => {
                    let kind = if key == 'c' { CommentKind::Comment } else { CommentKind::Objection };
                    let words = CommentRequest { kind, node, ..CommentRequest::default() };
                    match write(self.place, self.path, &words) {
                        Ok(_) => answer("Committed.")?,
                        Err(error) => answer(&error.to_string())?,
                    }
                    is_new = false;
                }
                'a' => {
                    answer(&self.approve()?)?;
                    is_new = false;
                }
                'm' => return self.mark(&git),
                'q' => return Ok(()),
                _ => is_new = false,
            }
        }
        if mark || (!items.is_empty() && agrees("No more items. Mark all as seen")?) {
            return self.mark(&git);
        }
        Ok(())
    }

    fn mark(&self, git: &GitProgram) -> CommandResult {
        git.mark_seen(self.path, self.after.head)?;
        say("Marked as seen.\n")
    }

    /// Signs off the reviewed commit if nothing has been committed since. Returns the message to show.
    fn approve(&self) -> CommandResult<String> {
        let now = self.place.store.load(self.path)?;
        let has_moved = now.head != self.after.head;
        if has_moved
            && !agrees("There are newer commits, perhaps only your own comments. Approve the newest")?
        {
            return Ok("Nothing was signed.".to_owned());
        }
        if !has_moved && !agrees(&format!("Approve {}", &now.head.to_string()[..10]))? {
            return Ok("Nothing was signed.".to_owned());
        }
        Ok(match sign(&self.place.store, &now, SignOffDecision::Approved, "", true) {
            Ok(signed) => format!("Approved: {}", signed.tag),
            Err(error) => error.to_string(),
        })
    }

    /// Formats everything stored about an item's subject, for the pager.
    fn whole(&self, item: &ReviewEntry) -> String {
        let investigation = self.after.investigation.as_ref();
        match item.node.as_ref().and_then(|id| investigation.node(id)) {
            Some(node) => {
                let mut text = format!("{} {}\n", node.id, one_line(node.name()));
                for field in node.fields().filter(|field| !field.value.trim().is_empty()) {
                    text.push_str(&heading(field.name, &field.value));
                }
                text + &comments(investigation, Some(&node.id))
            }
            None => {
                let end = investigation.report();
                let mut text = heading("Question", &investigation.meta().query);
                let line = end.map(|end| &end.bottom_line).filter(|line| !line.is_empty());
                text.extend(line.map(|line| heading("Bottom line", line)));
                let end = end.and_then(|end| end.conclusion.as_deref());
                let name = if investigation.draft().is_some() { DRAFT } else { "Conclusion" };
                text + &heading(name, end.unwrap_or("none")) + &comments(investigation, None)
            }
        }
    }
}

fn comments(investigation: &Investigation, node: Option<&NodeId>) -> String {
    let of_it = investigation.comments().filter(|comment| comment.node.as_ref() == node);
    let told = of_it.map(|comment| {
        let (kind, who) = (comment.kind.label(), one_line(&comment.author.label()));
        heading(&format!("{kind} by {who}, {}", comment.at.to_minute()), &comment.shown())
    });
    told.collect()
}

/// Formats text with a heading. Control characters are made visible.
fn heading(name: &str, text: &str) -> String {
    let lines = text.trim().lines().map(|line| format!("  {}\n", made_visible(line)));
    format!("\n{name}\n{}", lines.collect::<String>())
}

/// Formats an item.
fn block(item: &ReviewEntry, screen: Screen) -> String {
    /// The width of a note's label.
    const LABEL: usize = 11;
    let name = match &item.node {
        Some(node) => {
            let state = item.state.as_ref().map(|state| format!("{state} ")).unwrap_or_default();
            format!("{node} {state}{}", item.title)
        }
        None => "The investigation".to_owned(),
    };
    let mut text: String =
        screen.wrapped(&name, 0).iter().map(|line| format!("{}\n", styled(BOLD, line))).collect();
    for note in &item.notes {
        let style = match note.risk {
            Risk::Contested | Risk::Unconfirmed | Risk::Objection => BAD,
            Risk::Conclusion | Risk::Warning | Risk::ProjectEvidence | Risk::Turned => DOUBT,
            Risk::Other => Style::new(),
        };
        let mut lines = screen.wrapped(&note.text, LABEL + 3).into_iter();
        let label = styled(style, &format!("{:<LABEL$}", note.risk.label()));
        text.push_str(&format!("  {label} {}\n", lines.next().unwrap_or_default()));
        text.extend(lines.map(|line| format!("{:1$}{line}\n", "", LABEL + 3)));
    }
    text
}

/// Asks a question and returns whether the answer was `y`.
fn agrees(question: &str) -> CommandResult<bool> {
    say(&format!("{question} [y/n]? "))?;
    let key = pressed()?;
    say(&format!("{}\n", visible(key)))?;
    Ok(key == 'y')
}

/// Waits for a key. Ctrl-C, Ctrl-D and Escape count as `q`.
pub(super) fn pressed() -> io::Result<char> {
    io::stdout().flush()?;
    terminal::enable_raw_mode()?;
    let key = loop {
        match read() {
            Ok(Event::Key(key)) if key.kind == KeyEventKind::Press => match key.code {
                KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => break Ok('q'),
                KeyCode::Char(key) => break Ok(key),
                KeyCode::Enter | KeyCode::Right | KeyCode::Down => break Ok('n'),
                KeyCode::Left | KeyCode::Up => break Ok('p'),
                KeyCode::Esc => break Ok('q'),
                _ => {}
            },
            Ok(_) => {}
            Err(error) => break Err(error),
        }
    };
    terminal::disable_raw_mode()?;
    key
}
