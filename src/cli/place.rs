//! Finds the root, the investigations and the node that a command works on. None of them is guessed from the position of an
//! argument: `-i` names an investigation, and what stands without an option is what the command is about.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::print::tell;
use super::root::{self, Root};
use super::{CommandError, CommandResult, misused};
use crate::domain::wording::command;
use crate::domain::{Investigation, Node, NodeId};
use crate::store::{FindError, ListFilter, ListState, Store, WorkTree, strange_root};
use crate::text::{folded, one_line, shorten};

/// The heading of the options that most commands have.
pub(super) const EVERYWHERE: &str = "Options of all commands";

/// The variable that names the investigation without `-i`.
const VARIABLE: &str = "TOT_INVESTIGATION";

/// The option `--root`.
#[derive(Args)]
pub(super) struct RootArgument {
    /// Investigations folder; default: the one around the current investigation, TOT_ROOT, or `investigations` in the project
    #[arg(long, value_name = "DIR", global = true, value_parser = root::path(), help_heading = EVERYWHERE)]
    root: Option<PathBuf>,
}

/// The options of all commands that work on investigations.
#[derive(Args)]
pub(super) struct PlaceArguments {
    #[command(flatten)]
    root: RootArgument,
    /// Investigation: its id, or the beginning or end of it; repeat the option to name several. Default: TOT_INVESTIGATION or,
    /// except for list and search, the one around the current folder, the only one, or the only open one
    #[arg(short, long, value_name = "ID", global = true, value_parser = NonEmptyStringValueParser::new(), help_heading = EVERYWHERE)]
    pub investigation: Vec<String>,
}

/// The maximum number of investigations or nodes listed when one must be chosen.
const NAMED: usize = 5;
const NODES: usize = 10;
/// The minimum number of characters shown of an id.
pub(super) const LEAST: usize = 4;

/// The options of the commands that work on investigations and print.
#[derive(Args)]
pub(super) struct Common {
    #[command(flatten)]
    pub place: PlaceArguments,
    /// Print one JSON document
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub json: bool,
}

impl Common {
    pub(super) fn place(&self) -> CommandResult<Location> {
        self.place.place()
    }
}

impl PlaceArguments {
    pub(super) fn place(&self) -> CommandResult<Location> {
        Ok(Location { ids: self.investigation.clone(), ..self.root.place()? })
    }

    /// Returns the investigations that a command reads: these folders and those named by `-i`. Without both, returns the current
    /// investigation, or the root. A folder may contain several.
    pub(super) fn paths(&self, folders: &[PathBuf]) -> CommandResult<Vec<PathBuf>> {
        let mut paths = folders.to_vec();
        let place = self.place();
        // Folders need no root.
        if folders.is_empty() || !self.investigation.is_empty() {
            let place = place?;
            paths.extend(place.chosen()?.unwrap_or_else(|| vec![place.store.root().to_owned()]));
        }
        // One that is named twice is read once.
        let mut seen = HashSet::new();
        paths.retain(|path| seen.insert(std::fs::canonicalize(path).unwrap_or_else(|_| path.clone())));
        Ok(paths)
    }
}

/// The root that a command works on.
pub(super) struct Location {
    /// The store in the root.
    pub store: Store,
    /// The investigation around the current folder.
    inside: Option<PathBuf>,
    /// The investigations named by `-i`.
    pub ids: Vec<String>,
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
        Ok(Location { store: Store::new(folder), inside, ids: Vec::new(), note })
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
    /// Returns the folder of the investigation to work on. If none is named and the current folder is in none, returns the only
    /// one, or the only open one.
    pub(super) fn folder(&self) -> CommandResult<PathBuf> {
        let (folders, is_all) = self.folders()?;
        match folders.as_slice() {
            [folder] => Ok(folder.clone()),
            _ if !is_all => Err(misused("this command works on one investigation: give one -i")),
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

    /// Formats the request to choose an investigation: lists the newest ones, each by a unique part of its id.
    fn which(&self, folders: &[PathBuf]) -> String {
        let names = |folder: &PathBuf| {
            let meta = self.store.load(folder).ok()?.investigation.meta().clone();
            Some((meta.id.to_string(), meta.title))
        };
        let mut text = format!(
            "{} investigations found: name one with -i ID or {VARIABLE}, by the beginning or end of its id",
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

    /// Returns the investigation as the user named it with `-i`, for the commands that messages suggest.
    pub(super) fn named(&self) -> Option<&str> {
        self.ids.first().map(String::as_str)
    }

    /// Formats a command as the user would type it here.
    pub(super) fn command(&self, name: &str, rest: &str) -> String {
        command(name, self.named(), rest)
    }

    /// Returns the store if the root exists. A missing root indicates a mistyped name or the wrong current folder.
    pub(super) fn existing(&self) -> Result<&Store, String> {
        let root = self.store.root();
        match strange_root(root) {
            None if root.is_dir() => Ok(&self.store),
            Some(what) => {
                Err(format!("{what}, not a folder of investigations: name one with --root DIR or TOT_ROOT"))
            }
            None => Err(format!(
                "folder {} not found: `tot start` creates it with the first investigation; --root DIR or TOT_ROOT names \
                 another{}",
                root.display(),
                self.note.as_ref().map(|note| format!(". {note}")).unwrap_or_default()
            )),
        }
    }

    /// Returns the folders named by `-i` or else by TOT_INVESTIGATION, if one of them was given.
    pub(super) fn given(&self) -> CommandResult<Option<Vec<PathBuf>>> {
        self.existing()?;
        let found: Result<Vec<PathBuf>, FindError> = self.ids.iter().map(|id| self.store.find(id)).collect();
        let mut folders = found?;
        let variable = std::env::var_os(VARIABLE).filter(|id| folders.is_empty() && !id.is_empty());
        if let Some(id) = variable {
            let id = id.into_string().map_err(|_| format!("{VARIABLE} is not valid UTF-8"))?;
            let found = self.store.find(&id);
            folders.push(found.map_err(|error| format!("{VARIABLE}: {}", CommandError::from(error)))?);
        }
        folders.sort();
        folders.dedup();
        Ok(Some(folders).filter(|folders| !folders.is_empty()))
    }

    /// Returns the folders that are given, or the investigation around the current folder.
    fn chosen(&self) -> CommandResult<Option<Vec<PathBuf>>> {
        Ok(self.given()?.or_else(|| self.inside.clone().map(|folder| vec![folder])))
    }

    /// Returns the folders that are named, the investigation around the current folder, or all in the root. The second value is
    /// true in the latter case.
    pub(super) fn folders(&self) -> CommandResult<(Vec<PathBuf>, bool)> {
        Ok(self.chosen()?.map_or_else(|| (self.store.folders(), true), |folders| (folders, false)))
    }

    /// Returns the id of the node that a command writes about. Words of a title are not enough: the error names the nodes that
    /// have them.
    pub(super) fn node_id(&self, folder: &Path, word: &str) -> CommandResult<NodeId> {
        named_id(&self.store.load(folder)?.investigation, word)
    }
}

/// Returns the id of the node that a command writes about; see [`Place::node_id`]. An id without a node is returned as it is.
pub(super) fn named_id(investigation: &Investigation, word: &str) -> CommandResult<NodeId> {
    match (investigation.find(word), word.parse()) {
        (Ok(node), _) => Ok(node.id.clone()),
        (Err(error), id) => match error.ambiguous(word) {
            Some(error) => Err(error.to_string().into()),
            None if investigation.find_withdrawn(word).is_some() || investigation.is_unreadable(word) => {
                Err(investigation.missing(word).into())
            }
            None => id.map_err(|_| unnamed(word, &with_words(investigation, word))),
        },
    }
}

/// Returns the folder to read for an investigation's folder: its own, or for a linked work tree the one that it belongs to.
pub(super) fn origin(folder: &Path) -> PathBuf {
    WorkTree::origin(folder).unwrap_or_else(|| folder.to_owned())
}

/// Returns the node with this id, or the only one with these words in its title or headline.
pub(super) fn node<'a>(investigation: &'a Investigation, words: &[String]) -> CommandResult<&'a Arc<Node>> {
    let text = words.join(" ");
    match investigation.find(&text) {
        Ok(node) => return Ok(node),
        Err(error) => {
            if let Some(error) = error.ambiguous(&text) {
                return Err(error.to_string().into());
            }
        }
    }
    if let Ok(id) = text.parse::<NodeId>() {
        if investigation.is_unreadable(&text) {
            return Err(format!("the file of {id} can't be read: `tot check` says why").into());
        }
        return Err(format!("there is no node {id}").into());
    }
    match with_words(investigation, &text).as_slice() {
        [only] => Ok(only),
        others => Err(unnamed(&text, others)),
    }
}

/// Returns the nodes with all these words in the title or the headline. Case and order are ignored.
pub(super) fn with_words<'a>(investigation: &'a Investigation, text: &str) -> Vec<&'a Arc<Node>> {
    let words: Vec<String> = text.split_whitespace().map(folded).collect();
    let has_all = |node: &&Arc<Node>| {
        let title = folded(&format!("{} {}", node.title, node.name()));
        !words.is_empty() && words.iter().all(|word| title.contains(word))
    };
    investigation.preorder().into_iter().filter(has_all).collect()
}

/// Returns the error for text that names no node. With nodes that have it in their titles, it is a usage error that lists them.
pub(super) fn unnamed(text: &str, nodes: &[&Arc<Node>]) -> CommandError {
    let text = shorten(&one_line(text), 60);
    if nodes.is_empty() {
        return format!(
            "`{text}` is neither the id of a node, such as R2.A1, nor in a title: `tot show` shows the nodes, and `tot search WORDS` \
             looks in all texts"
        )
        .into();
    }
    let line = |node: &&Arc<Node>| format!("\n  {}  {}", node.id, shorten(&one_line(node.name()), 70));
    let mut lines: String = nodes.iter().take(NODES).map(line).collect();
    if let Some(more @ 1..) = nodes.len().checked_sub(NODES) {
        lines.push_str(&format!("\n  and {more} more"));
    }
    misused(format!("`{text}` is in these titles: name the node by its id{lines}"))
}
