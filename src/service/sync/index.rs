//! `tot sync --index`: writes the `tot-index` branch of a hub. Its README.md lists the investigations for the front
//! page of a forge.
//!
//! Lines for local investigations are computed. All other lines are kept as their owners wrote them. The branch is
//! updated by an ordinary push, and rewritten if somebody else pushed first.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::{SyncError, SyncOutcome, Syncing};
use crate::domain::SessionId;
use crate::format::readme::inline;
use crate::secrets::suspects;
use crate::service::remote::{ObjectName, Pushed, RemotePlace, Upstream};
use crate::text::counted;

/// The branch that contains the list.
const BRANCH: &str = "tot-index";
/// The file that contains the list.
const PAGE: &str = "README.md";
/// The maximum number of attempts when other clients push first.
const TRIES: usize = 5;
/// The maximum length of a question or an answer in a line, in characters.
const LENGTH: usize = 160;

/// The outcome for the list of one repository.
#[derive(Debug)]
pub struct Index {
    /// The address of the repository.
    pub address: String,
    /// The number of listed investigations.
    pub listed: usize,
    /// True if the list was written because it differed from the previous one.
    pub is_new: bool,
    /// The error, if any.
    pub error: Option<SyncError>,
}

impl Syncing<'_> {
    /// Writes the list of each hub with which the given investigations were synced.
    pub fn index(&self, outcomes: &[SyncOutcome]) -> Vec<Index> {
        let mut hubs: BTreeMap<&str, (&Path, &Upstream)> = BTreeMap::new();
        for outcome in outcomes {
            if let Some(upstream) = outcome.upstream.as_ref().filter(|upstream| upstream.place.id().is_some())
            {
                hubs.entry(&upstream.address).or_insert((&outcome.path, upstream));
            }
        }
        let one = |(address, (path, upstream)): (&str, (&Path, &Upstream))| {
            let mut index = Index { address: address.to_owned(), listed: 0, is_new: false, error: None };
            index.error = self.write_index(path, upstream, &mut index).err();
            index
        };
        hubs.into_iter().map(one).collect()
    }

    /// Writes one list. `path` is the folder of a listed investigation, whose repository stores the objects.
    fn write_index(&self, path: &Path, upstream: &Upstream, index: &mut Index) -> Result<(), SyncError> {
        let (git, remote) = (self.git, upstream.remote.as_str());
        let (there, here) = (format!("refs/heads/{BRANCH}"), format!("refs/remotes/{remote}/{BRANCH}"));
        for _ in 0..TRIES {
            let advertised = git.ls_remote(path, remote, &["refs/heads/*".to_owned()])?;
            let parent = advertised.refs.get(&there).and_then(ObjectName::commit);
            let mut before = String::new();
            if let Some(parent) = parent {
                git.fetch(path, remote, &[(there.clone(), here.clone())])?;
                before = git.file(path, parent, PAGE)?.unwrap_or_default();
            }
            let heads = advertised.refs.keys().filter_map(|name| name.strip_prefix("refs/heads/"));
            let mut places: Vec<(SessionId, RemotePlace)> =
                heads.map(RemotePlace::of_branch).filter_map(|place| Some((place.id()?, place))).collect();
            // Newest first.
            places.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
            let lines: Vec<String> = places
                .iter()
                .map(|(id, place)| self.line(*id, place).unwrap_or_else(|| line_before(&before, place)))
                .collect();
            let after = page(&lines);
            index.listed = lines.len();
            if after == before {
                return Ok(());
            }
            // Lines describe the local state, which may not be pushed yet.
            let new: String = lines.iter().filter(|line| !before.contains(line.as_str())).cloned().collect();
            // Checked without Markdown escapes.
            if let Some(suspect) =
                suspects(&new.replace('\\', "")).first().filter(|_| !self.options.allow_secrets)
            {
                let places = vec![format!("{} ({PAGE} of the list, line {})", suspect.kind, suspect.line)];
                return Err(SyncError::SecretSuspected { places, tags: Vec::new() });
            }
            let message = format!("List {}", counted(lines.len(), "investigation"));
            let commit = git.commit_file(path, parent, PAGE, &after, &message)?;
            match git.push(path, remote, &[(there.clone(), commit.into())])? {
                Pushed::Accepted => {
                    index.is_new = true;
                    return Ok(());
                }
                Pushed::Refused { said, .. } => {
                    let now = git.ls_remote(path, remote, std::slice::from_ref(&there))?;
                    if now.refs.get(&there).and_then(ObjectName::commit) == parent {
                        return Err(SyncError::Refused { remote: remote.to_owned(), said });
                    }
                }
            }
        }
        Err(SyncError::LostRaces { remote: remote.to_owned(), tries: TRIES as u32 })
    }

    /// Returns the line for a local, readable investigation.
    fn line(&self, id: SessionId, place: &RemotePlace) -> Option<String> {
        let path = self.store.find(&id.to_string()).ok()?;
        let investigation = self.store.load(&path).ok()?.investigation;
        let end = investigation.conclusion();
        let stands = match (investigation.end_in_force(), end) {
            (Some(end), _) if end.stopped.is_some() => "stopped early".to_owned(),
            (Some(_), _) => "ended".to_owned(),
            (None, Some(_)) => "ended, then continued".to_owned(),
            (None, None) => format!("open, {}", counted(investigation.len(), "node")),
        };
        let answer = end.and_then(|end| end.conclusion.as_deref()).unwrap_or_default();
        let meta = investigation.meta();
        let begun = meta.started_at.to_string();
        let (title, answer) = (inline(&meta.title, LENGTH), inline(answer, LENGTH));
        Some(line(&title, place, &stands, &answer, begun.get(..10).unwrap_or_default()))
    }
}

fn line(title: &str, place: &RemotePlace, stands: &str, answer: &str, begun: &str) -> String {
    let branch = &place.branch;
    format!("| [{title}](<../../tree/{branch}>) | {stands} | {answer} | {begun} | `{branch}` |\n")
}

/// Returns the previous line for an investigation that is not local.
fn line_before(page: &str, place: &RemotePlace) -> String {
    let ending = format!("| `{}` |", place.branch);
    let found = page.lines().find(|line| line.ends_with(&ending)).map(|line| format!("{line}\n"));
    found.unwrap_or_else(|| line(&inline(&place.branch, LENGTH), place, "", "", ""))
}

fn page(lines: &[String]) -> String {
    let mut page = format!(
        "# {}\n\nEach is a branch of this repository; start with its README. `tot clone` fetches all of them, or those \
         with the ids you give; `tot sync --index` writes this page.\n\n| question | | answer | begun | branch |\n|---|---|---|---|---|\n",
        counted(lines.len(), "investigation")
    );
    for line in lines {
        let _ = write!(page, "{line}");
    }
    page
}
