//! Unreadable files, and files that differ from this program's format.

use super::Severity::{Error, Note, Warning};
use super::{Finding, Subject, key_line};
use crate::domain::{Code, Comment, Conclusion, Meta, Node, Run};
use crate::format::layout::{self, FileRole};
use crate::format::{StoredFile, readme, withheld_file};
use crate::ruleset::{EffectiveRules, builtin};
use crate::secrets::suspects;
use crate::store::{Fault, HistoryEntry};
use crate::text::{sentence, without_case};

pub(super) fn findings(subject: &Subject, rules: Option<&EffectiveRules>) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        subject.snapshot.faults.iter().map(|fault| from_fault(subject, fault)).collect();
    findings.extend(page(subject, rules));
    ruleset(subject, &mut findings);
    case_collisions(subject, &mut findings);
    findings.extend(stray_attachments(subject));
    let is_fault = |file: &str| subject.snapshot.faults.iter().any(|fault| fault.path == file);
    findings.extend(subject.left_out.iter().filter(|left_out| !is_fault(&left_out.file)).map(|left_out| {
        let message = format!("It is left out of the work tree: {}.", left_out.reason);
        Finding::new(Warning, Code::LeftOut, message)
            .at(&left_out.file, None)
            .suggest("Remove it with `git rm --cached` and commit the removal.")
    }));
    for (path, text) in &subject.files {
        round_trip(path, text, &mut findings);
        if path == layout::WITHHELD
            && let Err(error) = withheld_file::read(text)
        {
            findings.push(
                Finding::new(Error, Code::UnreadableFile, format!("It can't be read: {}.", error.message))
                    .at(path, error.line)
                    .suggest("Until it is fixed and committed, no report is written."),
            );
        }
        if withheld_file::is_misnamed(path) {
            let message =
                format!("It looks like a list of withheld nodes, but only {} is one.", layout::WITHHELD);
            findings.push(
                Finding::new(Warning, Code::StrayFile, message)
                    .at(path, None)
                    .suggest("Until it is renamed, no report is written."),
            );
        }
        for suspect in suspects(text) {
            findings.push(
                Finding::new(Warning, Code::SecretSuspected, format!("It may contain {}.", suspect.kind))
                    .at(path, Some(suspect.line))
                    .suggest("If it is real, revoke it: it stays in the git history."),
            );
        }
    }
    match subject.text(layout::ATTRIBUTES) {
        Some(text) if text.lines().any(|line| line.trim() == "* -text") => {}
        _ => findings.push(
            Finding::new(Warning, Code::LineEndings, "git may change the line endings of files on checkout.")
                .at(layout::ATTRIBUTES, None)
                .suggest("Add the line `* -text` and commit it."),
        ),
    }
    findings
}

/// Compares the README page with the facts. Ignores pages that were replaced by a person or written by an earlier
/// version of this program.
fn page(subject: &Subject, rules: Option<&EffectiveRules>) -> Option<Finding> {
    let text = subject.text(layout::README).filter(|text| readme::is_ours(text))?;
    let expected = readme::readme(&subject.snapshot.investigation, rules?);
    (text != expected && !is_as_a_call_wrote_it(subject)).then(|| {
        Finding::new(Warning, Code::ReadmeDiffers, "It does not match the facts.")
            .at(layout::README, None)
            .suggest("The facts themselves are unaffected. The next call that changes the page rewrites it. Until then, delete it if it is misleading.")
    })
}

/// Returns whether the page was written by a call and only calls have changed facts since then.
fn is_as_a_call_wrote_it(subject: &Subject) -> bool {
    let is_call = |entry: &HistoryEntry| entry.gaps.is_empty() && entry.is_of_call();
    let concerns_it = |path: &String| path == layout::README || layout::file_role(path) != FileRole::Other;
    let last = subject.history.iter().find(|entry| match is_call(entry) {
        true => entry.paths.iter().any(|path| path == layout::README),
        false => !entry.gaps.is_empty() || entry.paths.iter().any(concerns_it),
    });
    last.is_some_and(is_call)
}

/// Reports attachments of missing nodes.
fn stray_attachments(subject: &Subject) -> impl Iterator<Item = Finding> {
    let investigation = &subject.snapshot.investigation;
    let stray = investigation.attachments().iter().filter(|(node, _)| investigation.node(node).is_none());
    stray.flat_map(|(node, files)| files.keys().map(move |name| (node, name))).map(|(node, name)| {
        Finding::new(Warning, Code::StrayFile, format!("It belongs to {node}, which is missing."))
            .at(layout::attachment(node, name), None)
            .suggest("Move it to another node's folder, or remove it.")
    })
}

fn from_fault(subject: &Subject, fault: &Fault) -> Finding {
    let reason = fault.reason.trim_end_matches('.').trim_end_matches("; it is ignored");
    if !fault.is_unreadable() {
        let severity = match fault.code {
            Code::HistoryCut => Note,
            Code::AuthorDiffers => Error,
            _ => Warning,
        };
        let finding = Finding::new(severity, fault.code.clone(), sentence(reason))
            .at(&fault.path, subject.text(&fault.path).and_then(|text| key_line(text, "name")));
        return match severity {
            Note => finding,
            _ => finding.suggest(format!("`git log -p {}` shows the changes.", fault.path)),
        };
    }
    let reason = format!("It is left out: {reason}.");
    if layout::file_role(&fault.path) == FileRole::Stray {
        return Finding::new(Warning, Code::StrayFile, reason)
            .at(&fault.path, fault.line)
            .suggest("Keep your own files outside nodes/, comments/, runs/ and attachments/.");
    }
    // The file is readable but has no place in the tree, so the problem is its id or its parent.
    let text = subject.text(&fault.path);
    match text.and_then(|text| Some((text, Node::read(text).ok()?))) {
        Some((_, node)) if subject.snapshot.investigation.node(&node.id).is_some() => {
            Finding::new(Error, Code::DuplicateId, reason).at(&fault.path, None)
        }
        Some((text, node)) if layout::node(&node.id) == fault.path => {
            let line = fault.line.or_else(|| key_line(text, "parent")).or_else(|| key_line(text, "id"));
            Finding::new(Error, Code::MisplacedNode, reason).at(&fault.path, line)
        }
        Some((text, _)) => Finding::new(Error, Code::UnreadableFile, reason)
            .at(&fault.path, fault.line.or_else(|| key_line(text, "id"))),
        None => Finding::new(Error, Code::UnreadableFile, reason).at(&fault.path, fault.line),
    }
}

fn ruleset(subject: &Subject, findings: &mut Vec<Finding>) {
    let meta = subject.snapshot.investigation.meta();
    let file = match &subject.snapshot.ruleset {
        Ok(file) => file,
        Err(fault) => {
            findings.push(
                Finding::new(Error, Code::InvalidRuleset, format!("{}.", fault.reason.trim_end_matches('.')))
                    .at(&fault.path, fault.line)
                    .suggest("Fix it by hand and commit it. No call can be judged until then."),
            );
            return;
        }
    };
    let line = |key: &str| key_line(&file.text, key);
    if file.ruleset.name != meta.ruleset {
        findings.push(
            Finding::new(
                Warning,
                Code::RulesetName,
                format!("Its name is {}, but the investigation names {}.", file.ruleset.name, meta.ruleset),
            )
            .at(layout::RULESET, line("name")),
        );
    }
    let known = builtin::all().iter().find(|known| known.ruleset.name == file.ruleset.name);
    if known.is_some_and(|known| known.ruleset != file.ruleset) {
        findings.push(
            Finding::new(
                Warning,
                Code::RulesetDiffers,
                format!("Its rules differ from those of the built-in ruleset {}.", file.ruleset.name),
            )
            .at(layout::RULESET, line("name"))
            .suggest("It applies as it is. Another version of this program may have written it."),
        );
    }
}

/// Reports paths that differ only in letter case. Compares paths rather than ids to include unreadable nodes.
fn case_collisions(subject: &Subject, findings: &mut Vec<Finding>) {
    let faulty = subject.snapshot.faults.iter().map(|fault| fault.path.as_str());
    let attachments = subject.snapshot.investigation.attachments().iter();
    let attached: Vec<String> = attachments
        .flat_map(|(node, files)| files.keys().map(|name| layout::attachment(node, name)))
        .collect();
    let attached = attached.iter().map(String::as_str);
    let mut paths: Vec<&str> =
        subject.files.keys().map(String::as_str).chain(faulty).chain(attached).collect();
    paths.sort_by_key(|path| (without_case(path), *path));
    paths.dedup();
    for pair in paths.windows(2) {
        if without_case(pair[0]) == without_case(pair[1]) {
            findings.push(
                Finding::new(
                    Error,
                    Code::IdCaseCollision,
                    format!("It differs from {} only in letter case.", pair[0]),
                )
                .at(pair[1], subject.text(pair[1]).and_then(|text| key_line(text, "id")))
                .suggest(
                    "A repository with both can't be checked out on macOS or Windows. Rename one of them.",
                ),
            );
        }
    }
}

/// Checks that reading the file and writing it back reproduces its bytes.
fn round_trip(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let written = match layout::file_role(path) {
        FileRole::Node(_) => Node::read(text).and_then(|node| node.write()),
        FileRole::Meta => Meta::read(text).and_then(|meta| meta.write()),
        FileRole::Conclusion => Conclusion::read(text).and_then(|end| end.write()),
        FileRole::Comment(_) => Comment::read(text).and_then(|comment| comment.write()),
        FileRole::Run(_) => Run::read(text).and_then(|run| run.write()),
        FileRole::Ruleset | FileRole::Attachment(..) | FileRole::Stray | FileRole::Other => return,
    };
    // Unreadable files are reported elsewhere.
    let Ok(written) = written else { return };
    if written == text {
        return;
    }
    let same = text.split('\n').zip(written.split('\n')).take_while(|(a, b)| a == b).count();
    findings.push(
        Finding::new(
            Warning,
            Code::EditedFile,
            "This program writes this line differently; the next call on the node will rewrite it.",
        )
        .at(path, Some(same as u64 + 1)),
    );
}
