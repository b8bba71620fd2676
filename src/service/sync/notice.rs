//! Notices after a sync: changed rules, manual edits, false names, and attachments renamed by a merge. Pure: compares
//! the states before and after the sync.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::domain::Code;
use crate::format::layout;
use crate::store::{Fault, Snapshot};
use crate::text::counted;

/// The maximum number of files or problems of one kind to list.
const NAMED: usize = 10;

/// A fetched change that a person should know about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// Its kind.
    pub kind: NoticeKind,
    /// The affected files, up to a limit.
    pub files: Vec<String>,
    /// The notice as one sentence.
    pub message: String,
}

/// The kind of notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum NoticeKind {
    /// The rules or terms have changed since the investigation started.
    RulesChanged,
    /// A file names a person who is not the author of the git commit.
    AuthorDiffers,
    /// A file was edited without a call.
    EditedByHand,
    /// Two files had the same name, and a merge renamed one of them.
    AttachmentRenamed,
}

/// Returns the notices that are new in `after`, a descendant of `before`.
pub(super) fn notices(before: &Snapshot, after: &Snapshot) -> Vec<Notice> {
    let new = |fault: &&Fault| !before.faults.contains(fault);
    let of_fault = |fault: &Fault| {
        let kind = match fault.code {
            Code::TermsChanged | Code::RulesetDiffers => NoticeKind::RulesChanged,
            Code::AuthorDiffers => NoticeKind::AuthorDiffers,
            _ => return None,
        };
        Some(Notice { kind, files: vec![fault.path.clone()], message: fault.to_string() })
    };
    let told: Vec<Notice> = after.faults.iter().filter(new).filter_map(of_fault).collect();
    let named: BTreeSet<&String> = told.iter().flat_map(|notice| &notice.files).collect();
    let known = &before.investigation.by_hand().edits;
    let edits = after.investigation.by_hand().edits.iter();
    let edited: Vec<String> = edits
        .filter(|(path, times)| known.get(*path) < Some(times) && !named.contains(path))
        .map(|(path, _)| path.clone())
        .collect();
    let mut notices: Vec<Notice> = told.iter().take(NAMED).cloned().collect();
    if !edited.is_empty() {
        let verb = if edited.len() == 1 { "was" } else { "were" };
        let number = counted(edited.len(), "file");
        let files: Vec<String> = edited.into_iter().take(NAMED).collect();
        let message = format!("{number} {verb} edited by hand: {}", files.join(", "));
        notices.push(Notice { kind: NoticeKind::EditedByHand, files, message });
    }
    notices.extend(renamed(before, after).take(NAMED));
    notices
}

/// Returns notices about attachments renamed by a merge.
fn renamed(before: &Snapshot, after: &Snapshot) -> impl Iterator<Item = Notice> {
    let all = after.investigation.attachments().iter();
    all.flat_map(|(node, files)| {
        let known = before.investigation.attachments_of(node);
        let new = files.keys().filter(|name| !known.contains_key(*name));
        let pairs = new.filter_map(|to| Some((to, files.keys().find(|from| to.is_apart_from(from))?)));
        pairs.map(|(to, from)| {
            let files = [from, to].map(|name| layout::attachment(node, name));
            let message = format!("two files had the name {}; a merge renamed one to {}", files[0], files[1]);
            Notice { kind: NoticeKind::AttachmentRenamed, files: files.to_vec(), message }
        })
    })
}
