//! Finds the root and the investigations that a command works on.

use std::path::{Path, PathBuf};

use clap::Args;

use super::print::tell;
use super::root::{self, Root};
use super::{CommandResult, Misused};
use crate::domain::{IdError, NodeId, SessionId};
use crate::store::{CHOSEN, FindError, ListFilter, ListState, Store, WorkTree};
use crate::text::{one_line, shorten};

/// The heading of the options that most commands have.
pub(super) const EVERYWHERE: &str = "Options of all commands";

/// The option `--root`.
#[derive(Args)]
pub(super) struct RootArgument {
    /// Investigations folder; default: the one around the current investigation, TOT_ROOT, or `investigations` in the project
    #[arg(long, value_name = "DIR", global = true, value_parser = root::path(), help_heading = EVERYWHERE)]
    root: Option<PathBuf>,
}

/// The maximum number of investigations listed when one must be chosen.
const NAMED: usize = 5;
/// The minimum number of characters shown of an id.
const LEAST: usize = 4;

/// The options of all commands that read investigations and print.
#[derive(Args)]
pub(super) struct Common {
    #[command(flatten)]
    root: RootArgument,
    /// Print one JSON document
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub json: bool,
}

impl Common {
    pub(super) fn place(&self) -> CommandResult<Location> {
        self.root.place()
    }
}

/// The root that a command works on.
pub(super) struct Location {
    /// The store in the root.
    pub store: Store,
    /// The investigation around the current folder.
    inside: Option<PathBuf>,
    /// What users and agents should know about this root when they start or list investigations.
    pub note: Option<String>,
}

impl RootArgument {
    pub(super) fn new(root: Option<PathBuf>) -> Self {
        RootArgument { root }
    }

    pub(super) fn place(&self) -> CommandResult<Location> {
        let Root { folder, inside, note } = root::root(self.root.as_deref())?;
        let (told, note) = if inside.is_some() { (note, None) } else { (None, note) };
        told.iter().for_each(|note| tell(&format!("tot: {note}")));
        Ok(Location { store: Store::new(folder), inside, note })
    }
}

/// The option for uncommitted changes in withheld.yaml.
#[derive(Args)]
pub(super) struct WithholdArgument {
    /// Use withheld.yaml as committed, even if the file has uncommitted changes
    #[arg(long)]
    pub ignore_uncommitted: bool,
}

impl Location {
    /// Returns the folder for an id or part of one. Without an id, returns the investigation around the current folder, the one
    /// chosen by `tot use`, the only one, or the only open one.
    pub(super) fn folder(&self, id: Option<&str>) -> CommandResult<PathBuf> {
        let ids: Vec<String> = id.map(str::to_owned).into_iter().collect();
        let (folders, is_all) = self.folders(&ids)?;
        // The choice is ignored if that investigation was removed.
        let chosen = || self.store.find(std::fs::read_to_string(self.chosen_file()).ok()?.trim()).ok();
        if is_all && let Some(folder) = chosen() {
            return Ok(folder);
        }
        match folders.as_slice() {
            [folder] => Ok(folder.clone()),
            [] => Err(format!("no investigations in {}", self.store.root().display()).into()),
            several => {
                let open = ListFilter { state: ListState::Open, text: None, after: None, limit: 2 };
                match self.store.list(&open)?.entries.as_slice() {
                    [only] => Ok(only.path.clone()),
                    _ => Err(self.which(several).into()),
                }
            }
        }
    }

    /// Returns the path of the file that names the chosen investigation.
    pub(super) fn chosen_file(&self) -> PathBuf {
        self.store.root().join(CHOSEN)
    }

    /// Formats the request to choose an investigation: lists the newest ones, each by a unique part of its id.
    fn which(&self, folders: &[PathBuf]) -> String {
        let names = |folder: &PathBuf| {
            let meta = self.store.load(folder).ok()?.investigation.meta().clone();
            Some((meta.id.to_string(), meta.title))
        };
        let mut text = format!(
            "{} investigations found: name one by the beginning or end of its id, or choose a default with `tot use ID`",
            folders.len()
        );
        for (id, title) in folders.iter().rev().filter_map(names).take(NAMED) {
            text.push_str(&format!("\n  {}  {}", self.short(&id), shorten(&one_line(&title), 70)));
        }
        if folders.len() > NAMED {
            text.push_str("\n  tot list shows all");
        }
        text
    }

    /// Returns a prefix of the id that is unique in the root.
    pub(super) fn short<'a>(&self, id: &'a str) -> &'a str {
        let is_only = |part: &&str| self.store.find(part).is_ok();
        (LEAST..id.len()).filter_map(|end| id.get(..end)).find(is_only).unwrap_or(id)
    }

    /// Returns whether the first of several words is an investigation's id where it could also be `what`, such as a title: the
    /// whole id, or a part that has a digit and is long enough to be no number.
    ///
    /// # Errors
    ///
    /// Returns an error for a word that could be either.
    pub(super) fn names_one(&self, word: &str, what: &str) -> Result<bool, Misused> {
        let is_part = word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
        let is_found = is_part && !matches!(self.store.find(word), Err(FindError::NotFound { .. }));
        let is_certain = is_found && has_digit && word.len() >= LEAST && !Path::new(word).is_file();
        match is_part && (is_found || has_digit) && !is_certain && word.parse::<SessionId>().is_err() {
            true => Err(Misused(format!(
                "`{word}` could be an id or {what}: `tot list` shows the ids, of which to give at least {LEAST} characters; to be \
                 {what}, it needs another word"
            ))),
            false => Ok(is_certain || word.parse::<SessionId>().is_ok()),
        }
    }

    /// Returns the store if the root exists. A missing root indicates a mistyped name or the wrong current folder.
    pub(super) fn existing(&self) -> Result<&Store, String> {
        let root = self.store.root();
        match root.is_dir() {
            true => Ok(&self.store),
            false if root.exists() => Err(format!(
                "{} is a file, not a folder of investigations: name one with --root DIR or TOT_ROOT",
                root.display()
            )),
            false => Err(format!(
                "folder {} not found: `tot start` creates it with the first investigation; --root DIR or TOT_ROOT names \
                 another{}",
                root.display(),
                self.note.as_ref().map(|note| format!(". {note}")).unwrap_or_default()
            )),
        }
    }

    /// Returns the investigation around the current folder, or the root.
    pub(super) fn here(&self) -> Result<&Path, String> {
        match &self.inside {
            Some(folder) => Ok(folder),
            None => Ok(self.existing()?.root()),
        }
    }

    /// Returns the folders for these ids or parts of ids. Without ids, returns the investigation around the current folder, or
    /// all in the root if there is none. The second value is true in the latter case.
    pub(super) fn folders(&self, ids: &[String]) -> CommandResult<(Vec<PathBuf>, bool)> {
        self.existing()?;
        if !ids.is_empty() {
            let found: Result<Vec<PathBuf>, FindError> = ids.iter().map(|id| self.store.find(id)).collect();
            let mut folders = found?;
            folders.sort();
            folders.dedup();
            return Ok((folders, false));
        }
        match &self.inside {
            Some(folder) => Ok((vec![folder.clone()], false)),
            None => Ok((self.store.folders(), true)),
        }
    }
}

/// Returns the folder to read for an investigation's folder: its own, or for a linked work tree the one that it belongs to.
pub(super) fn origin(folder: &Path) -> PathBuf {
    WorkTree::origin(folder).unwrap_or_else(|| folder.to_owned())
}

/// Separates an investigation's id from the rest: it is the first argument, unless `is_other` accepts that argument.
pub(super) fn split_id(what: &[String], is_other: impl Fn(&str) -> bool) -> (Option<&str>, &[String]) {
    match what.split_first() {
        Some((first, rest)) if !is_other(first) => (Some(first), rest),
        _ => (None, what),
    }
}

/// Returns whether a word is a node id.
pub(super) fn is_node(word: &str) -> bool {
    word.parse::<NodeId>().is_ok()
}

/// Splits the arguments into an investigation's id and node ids.
pub(super) fn id_and_nodes(what: &[String]) -> Result<(Option<&str>, Vec<NodeId>), Misused> {
    let (id, nodes) = split_id(what, is_node);
    Ok((id, nodes.iter().map(|word| node(word)).collect::<Result<_, _>>()?))
}

/// Splits the arguments into an investigation's id and at most one node id.
pub(super) fn id_and_node(what: &[String]) -> Result<(Option<&str>, Option<NodeId>), Misused> {
    let (id, mut nodes) = id_and_nodes(what)?;
    let node = nodes.pop();
    if nodes.is_empty() { Ok((id, node)) } else { Err(Misused("name only one node".to_owned())) }
}

/// Parses a node id. An invalid id is a usage error.
pub(super) fn node(word: &str) -> Result<NodeId, Misused> {
    word.parse().map_err(|error: IdError| Misused(error.to_string()))
}
