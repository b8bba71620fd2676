//! The investigations of a command: the root, and ids or parts of them.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Misused;
use crate::domain::{IdError, NodeId};
use crate::format::layout;
use crate::store::{CHOSEN, FindError, ListFilter, ListState, Store};
use crate::text::{one_line, shorten};

/// The folder of the investigations.
#[derive(Args)]
pub(super) struct RootArgument {
    /// The folder of the investigations; without it TOT_ROOT, `investigations` here, or around the one that you are in
    #[arg(long, value_name = "DIR", global = true)]
    root: Option<PathBuf>,
}

/// The most investigations listed when one must be chosen.
const NAMED: usize = 5;
/// The fewest characters shown of an id.
const LEAST: usize = 4;

/// What every command takes that works with investigations and prints.
#[derive(Args)]
pub(super) struct Common {
    #[command(flatten)]
    root: RootArgument,
    /// Print one JSON document instead of lines
    #[arg(long, global = true)]
    pub json: bool,
}

impl Common {
    pub(super) fn place(&self) -> Place {
        self.root.place()
    }
}

/// The place where a command works.
pub(super) struct Place {
    /// The store of the root.
    pub store: Store,
    /// The investigation around the current folder, if no root was named.
    inside: Option<PathBuf>,
}

impl RootArgument {
    pub(super) fn place(&self) -> Place {
        let variable = || std::env::var_os("TOT_ROOT").filter(|root| !root.is_empty()).map(PathBuf::from);
        let named = self.root.clone().or_else(variable);
        let default = PathBuf::from("investigations");
        let inside = if named.is_none() && !default.is_dir() { around() } else { None };
        let around = inside.as_deref().and_then(Path::parent).map(Path::to_owned);
        Place { store: Store::new(named.or(around).unwrap_or(default)), inside }
    }
}

/// Whether what is not committed of the list of withheld nodes is ignored.
#[derive(Args)]
pub(super) struct WithholdArgument {
    /// Withhold what withheld.yaml lists as it is committed, although the file has changes that are not
    #[arg(long)]
    pub ignore_uncommitted: bool,
}

impl Place {
    /// Returns the folder for an id or part of one. Without an id: the investigation around the current folder, the one chosen by
    /// `tot use`, the only one, or the only open one.
    pub(super) fn one(&self, id: Option<&str>) -> Result<PathBuf, Box<dyn std::error::Error>> {
        let ids: Vec<String> = id.map(str::to_owned).into_iter().collect();
        let (folders, is_all) = self.folders(&ids)?;
        // A removed investigation is no longer chosen.
        let chosen = || self.store.find(std::fs::read_to_string(self.chosen_file()).ok()?.trim()).ok();
        if is_all && let Some(folder) = chosen() {
            return Ok(folder);
        }
        match folders.as_slice() {
            [folder] => Ok(folder.clone()),
            [] => Err(format!("there is no investigation in {}", self.store.root().display()).into()),
            several => {
                let open = ListFilter { state: ListState::Open, text: None, after: None, limit: 2 };
                match self.store.list(&open)?.entries.as_slice() {
                    [only] => Ok(only.path.clone()),
                    _ => Err(self.which(several).into()),
                }
            }
        }
    }

    /// Returns the file that names the chosen investigation.
    pub(super) fn chosen_file(&self) -> PathBuf {
        self.store.root().join(CHOSEN)
    }

    /// Asks for a choice: lists the newest, each by a unique part of its id.
    fn which(&self, folders: &[PathBuf]) -> String {
        let names = |folder: &PathBuf| {
            let meta = self.store.load(folder).ok()?.investigation.meta().clone();
            Some((meta.id.to_string(), meta.title))
        };
        let mut text = format!(
            "there are {} investigations here: name one by the beginning or end of its id; `tot use ID` chooses one",
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

    /// Returns a part of the id that is unique in the root.
    pub(super) fn short<'a>(&self, id: &'a str) -> &'a str {
        let is_only = |part: &&str| self.store.find(part).is_ok();
        (LEAST..id.len()).filter_map(|end| id.get(..end)).find(is_only).unwrap_or(id)
    }

    /// Returns the store of an existing root. A missing root means a wrong name or another current folder.
    pub(super) fn existing(&self) -> Result<&Store, String> {
        let root = self.store.root();
        match root.is_dir() {
            true => Ok(&self.store),
            false if root.exists() => Err(format!(
                "{} is a file, but investigations need a folder: --root DIR or TOT_ROOT names it",
                root.display()
            )),
            false => Err(format!(
                "there is no folder {}: `tot start` creates it with the first investigation; --root DIR or TOT_ROOT names \
                 another",
                root.display()
            )),
        }
    }

    /// Returns the investigation around the current folder, or else the root.
    pub(super) fn here(&self) -> Result<&Path, String> {
        match &self.inside {
            Some(folder) => Ok(folder),
            None => Ok(self.existing()?.root()),
        }
    }

    /// Returns the folders for these ids or parts of them; without any, of the investigation around the current folder, or else
    /// all. Also returns whether it is all.
    pub(super) fn folders(&self, ids: &[String]) -> Result<(Vec<PathBuf>, bool), Box<dyn std::error::Error>> {
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

/// Splits the arguments into the id of an investigation and that of a node.
pub(super) fn id_and_node(what: &[String]) -> Result<(Option<&str>, Option<NodeId>), Misused> {
    Ok(match what {
        [] => (None, None),
        [one] => match one.parse() {
            Ok(node) => (None, Some(node)),
            Err(_) => (Some(one), None),
        },
        [id, node, ..] => (Some(id), Some(self::node(node)?)),
    })
}

/// Parses the id of a node. An invalid id is wrong usage.
pub(super) fn node(word: &str) -> Result<NodeId, Misused> {
    word.parse().map_err(|error: IdError| Misused(error.to_string()))
}

/// Returns the folder of the investigation around the current folder.
fn around() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let is_one = |folder: &&Path| folder.join(".git").is_dir() && folder.join(layout::META).is_file();
    here.ancestors().find(is_one).map(Path::to_owned)
}
