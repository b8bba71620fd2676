//! Formats what `tot rerun` prints about a run. Pure. Hidden characters are made visible.

use super::{RerunResult, Where};
use crate::assess::CapturedRun;
use crate::assess::refs::MovedRefs;
use crate::cli::run::missed;
use crate::cli::screen::{BAD, BOLD, DOUBT, GOOD, QUIET, plain_lines, styled};
use crate::domain::Investigation;
use crate::domain::run::{Output, ProjectState, Ran, RunComparison};
use crate::report::difference::difference;
use crate::text::{counted, made_visible, one_line, shell_line, shorten};

/// The maximum number of lines shown for a difference.
const LINES_MAX: usize = 40;
/// The maximum number of characters shown per line.
const LINE_MAX: usize = 200;
/// The maximum number of characters shown for a command after it ran.
const COMMAND_MAX: usize = 72;

/// Describes a command before it runs: the full command, the files stored with it, who captured it and when, and where it
/// will run.
pub(super) fn description(
    investigation: &Investigation,
    captured: &CapturedRun<'_>,
    place: &Where,
) -> String {
    let CapturedRun { run, ran, .. } = captured;
    let node = run.node.as_ref().map_or("the investigation", |node| node.as_str());
    let who = one_line(&run.author.label());
    let heading = format!("Run {} of {node}, captured by {who} on {}", run.id, run.at.to_minute());
    // A carriage return would otherwise look like a space.
    let command = plain_lines(&ran.line().replace('\r', "\u{240D}"), 4);
    let files = ran.files.iter().map(|file| {
        let content = investigation.content(file);
        let text = content.as_deref().map_or("(not stored)".into(), String::from_utf8_lossy);
        format!("  $TOT_FILES/{}:\n{}", file.name, plain_lines(&made_visible(&text), 4))
    });
    let values = ran.variables.iter().filter_map(|it| Some((&it.name, it.value.as_ref()?)));
    let values =
        values.map(|(name, value)| plain_lines(&format!("{name}={value}").replace('\r', "\u{240D}"), 4));
    let setup = ran.setup.as_ref().filter(|_| *place != Where::Here).map(|line| {
        let line = shell_line(&["sh", "-c", line].map(str::to_owned));
        plain_lines(&line.replace('\r', "\u{240D}"), 4)
    });
    let command = values.chain(setup).collect::<String>() + &command + &files.collect::<String>();
    let folder =
        ran.folder.as_deref().map(|folder| format!(", folder {}", one_line(folder))).unwrap_or_default();
    format!(
        "{}\n{command}  {}\n",
        styled(BOLD, &heading),
        styled(QUIET, &format!("{}{folder}", whereabouts(ran, place)))
    )
}

/// Describes where a command will run.
fn whereabouts(ran: &Ran, place: &Where) -> String {
    let short = |commit: &str| shorten(&one_line(commit), 12);
    match (&ran.project, place) {
        (None, _) => "here, because it was captured outside a repository".to_owned(),
        (Some(_), Where::Here) => "here, in place".to_owned(),
        (Some(_), Where::At(commit)) => format!("in a work tree of {}", short(commit)),
        (Some(project), Where::Recorded) => {
            let commit = project.commit.as_deref().map_or("no commit".to_owned(), short);
            let changed = project.changed().filter(|_| project.patch.is_some());
            let changed = changed.map(|files| format!(", with {files} as stored in the run"));
            let missing =
                project.not_stored().map(|files| format!(", without {files}, not stored in the run"));
            let parts = [changed, missing].into_iter().flatten();
            format!("in a work tree of {commit}{}", parts.collect::<String>())
        }
    }
}

/// Describes the result of a rerun: the verdict, the command, and the reasons.
pub(super) fn result_lines(repetition: &RerunResult<'_>) -> String {
    let RerunResult { run, first, again, verdict, elsewhere, .. } = repetition;
    let verdict = *verdict;
    let style = match verdict {
        _ if repetition.holds() => GOOD,
        RunComparison::Same => DOUBT,
        RunComparison::Differs => BAD,
        RunComparison::CouldNotRun => DOUBT,
    };
    let node = run.node.as_ref().map(|node| format!("{node} ")).unwrap_or_default();
    let line = shorten(&one_line(&again.line()), COMMAND_MAX);
    let label = styled(style, &format!("{:<13}", again.said(first, verdict)));
    let mut text =
        format!("{label} {node}{line} ({}, {})\n", one_line(&again.ended.to_string()), again.seconds);
    let reasons = if verdict == RunComparison::Same {
        elsewhere.clone().into_iter().collect()
    } else {
        reasons(repetition)
    };
    // Of any other result, it is the reason.
    let moved = MovedRefs::between(&first.refs, &first.refs, &again.refs).moved;
    let moved = moved.into_iter().filter(|_| verdict == RunComparison::Same);
    let dirty = repetition.dirty().and_then(ProjectState::changed);
    let dirty = dirty.map(|files| format!("with {files}, so it settles nothing"));
    let behind = again.project.as_ref().filter(|state| state.behind && verdict == RunComparison::Same);
    let behind =
        behind.map(|_| "at a commit without that of an earlier difference, so it settles nothing".to_owned());
    for reason in reasons.into_iter().chain(moved).chain(dirty).chain(behind) {
        text.push_str(&format!("    {}\n", made_visible(&reason)));
    }
    if let Some((judgement, _)) = repetition.judged() {
        let (by, why) = (judgement.author.label(), judgement.note.as_deref().unwrap_or_default());
        let outcome = judgement.outcome();
        text.push_str(&format!(
            "    known: it {outcome}, as judged by {}: {}\n",
            one_line(&by),
            one_line(why)
        ));
    } else if verdict == RunComparison::Differs && again.output.sha256 != first.output.sha256 {
        text.push_str(&changed(&first.output, &again.output));
    }
    text
}

/// Returns the differences from the first run, and the files that this one lacked.
pub(super) fn reasons(repetition: &RerunResult<'_>) -> Vec<String> {
    let RerunResult { first, again, missing, elsewhere, .. } = repetition;
    let ended = (again.ended != first.ended).then(|| format!("{}; before: {}", again.ended, first.ended));
    let unmet = again.expectations.iter().filter(|it| !it.held).map(missed);
    ended.into_iter().chain(unmet).chain(missing.clone()).chain(elsewhere.clone()).collect()
}

/// Formats the changed lines in the output.
fn changed(before: &Output, after: &Output) -> String {
    let whole = |output: &Output| match &output.end {
        None => output.text.clone(),
        Some(end) => format!("{}\n…\n{end}", output.text),
    };
    let passages = difference(&whole(before), &whole(after)).passages;
    let lines = passages.iter().flat_map(|passage| &passage.lines);
    let lines: Vec<String> = lines
        .map(|line| {
            format!("{}{}", line.sign, line.parts.iter().map(|part| part.text.as_str()).collect::<String>())
        })
        .collect();
    let shown = lines.iter().take(LINES_MAX).map(|line| plain_lines(&shorten(line, LINE_MAX), 4));
    let mut text: String = shown.collect();
    if lines.len() > LINES_MAX {
        text.push_str(&format!("    … and {}\n", counted(lines.len() - LINES_MAX, "line")));
    }
    if lines.is_empty() {
        text.push_str("    the difference is in output that was not stored\n");
    }
    text
}

/// Returns a summary such as `2 of 3 same, 1 differs (judged to hold)`.
pub(super) fn summary(repeated: &[RerunResult<'_>]) -> String {
    let number =
        |wanted, holds| repeated.iter().filter(|it| it.verdict == wanted && it.holds() == holds).count();
    let mut text = format!("{} of {} same", number(RunComparison::Same, true), repeated.len());
    for (number, one, many) in [
        (number(RunComparison::Differs, false), "differs", "differ"),
        (number(RunComparison::Differs, true), "differs (judged to hold)", "differ (judged to hold)"),
        (number(RunComparison::CouldNotRun, false), "could not run", "could not run"),
        (number(RunComparison::Same, false), "not checked here", "not checked here"),
    ] {
        match number {
            0 => {}
            1 => text.push_str(&format!(", 1 {one}")),
            more => text.push_str(&format!(", {more} {many}")),
        }
    }
    text
}
