//! `tot remote`: lists and adds investigation remotes.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::json;

use super::place::Common;
use super::print::say_fields;
use super::{CommandResult, misused, remote_address, say};
use crate::service::remote::{self, GitProgram};
use crate::service::sync::{self, SyncError};
use crate::store::Store;
use crate::text::{counted, one_line};

/// List the remotes of investigations, or add one.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct RemoteArguments {
    #[command(subcommand)]
    command: Option<RemoteCommand>,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
Examples:
  tot remote add origin git@example.org:team/research.git
      All investigations, in one repository, each on its own branch tot/<id>; in a git project, new ones too
  tot remote add origin https://example.org/me/sky.git -i 0196 --own
      One investigation, in a repository of its own, on the branch main
  tot remote add backup /mnt/backup/research.git
      A second remote, which `tot sync` does not use: run `git push backup` in the folder
  tot remote
      List all remotes";

#[derive(Subcommand)]
enum RemoteCommand {
    /// Add a remote to investigations; without -i, to all in the root and, in a git project, to new ones too
    Add(AddArguments),
}

#[derive(Args)]
struct AddArguments {
    /// Name of the remote, usually `origin`
    name: String,
    /// Address of the repository, as for git remote
    #[arg(value_parser = remote_address)]
    url: String,
    /// Prefix of the branches in a repository of many investigations
    #[arg(long, default_value = sync::DEFAULT_PREFIX)]
    prefix: String,
    /// The repository holds only this investigation, on the branch main
    #[arg(long, conflicts_with = "prefix")]
    own: bool,
}

/// An investigation's remote.
#[derive(Serialize)]
struct RemoteEntry {
    path: String,
    name: String,
    url: String,
    branch: Option<String>,
    /// Whether `tot sync` uses this remote.
    synced: bool,
}

pub(super) fn run(arguments: &RemoteArguments) -> CommandResult {
    match &arguments.command {
        None => list(arguments),
        Some(RemoteCommand::Add(add)) => self::add(arguments, add),
    }
}

fn list(arguments: &RemoteArguments) -> CommandResult {
    let place = arguments.common.place()?;
    let git = GitProgram::find(true)?;
    let (folders, _) = place.folders()?;
    let remotes = remotes(&git, &folders)?;
    if arguments.common.json {
        return say_fields(&json!({"remotes": remotes}));
    }
    let line = |entry: &RemoteEntry| {
        let branch = entry.branch.as_deref().unwrap_or("(no branch pushed)");
        let synced = if entry.synced { "" } else { "  not synced" };
        one_line(&format!("{}  {}  {}  {branch}{synced}", entry.path, entry.name, entry.url)) + "\n"
    };
    if remotes.is_empty() {
        return say("No remotes: `tot remote add origin URL` adds one.\n");
    }
    say(&remotes.iter().map(line).collect::<String>())
}

fn remotes(git: &GitProgram, folders: &[PathBuf]) -> Result<Vec<RemoteEntry>, remote::RemoteError> {
    let found = sync::at_once(folders, |path| entries(git, path));
    Ok(found.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

fn entries(git: &GitProgram, path: &Path) -> Result<Vec<RemoteEntry>, remote::RemoteError> {
    let settings = git.settings(path)?;
    let here = git.references(path)?;
    let upstream = settings.own_branch(&here).and_then(|branch| settings.upstream(branch));
    let entry = |(name, url): (&str, &str)| {
        let synced = upstream.as_ref().filter(|upstream| upstream.remote == name);
        let place = synced.map(|upstream| upstream.place.clone()).or_else(|| settings.place(name));
        RemoteEntry {
            path: path.display().to_string(),
            name: name.to_owned(),
            url: remote::shown_address(url),
            branch: place.map(|place| place.branch),
            synced: synced.is_some(),
        }
    };
    Ok(settings.remotes().into_iter().map(entry).collect())
}

fn add(arguments: &RemoteArguments, add: &AddArguments) -> CommandResult {
    let place = arguments.common.place()?;
    let git = GitProgram::find(true)?;
    // With --json, the output is the list of remotes.
    let tell = |folders: &[PathBuf], text: &str| match arguments.common.json {
        true => say_fields(&json!({"remotes": remotes(&git, folders)?})),
        false => say(text),
    };
    // A missing root is created, because new investigations will be shared.
    let (folders, all) = match place.ids.is_empty() && place.existing().is_err() {
        true => (Vec::new(), true),
        false => place.folders()?,
    };
    if add.own && folders.len() != 1 {
        return Err(misused("--own is for one investigation: name it with -i"));
    }
    let added = sync::at_once(&folders, |path| add_to(&place.store, &git, path, add));
    added.into_iter().collect::<Result<Vec<()>, _>>()?;
    let synced = remotes(&git, &folders)?.iter().filter(|it| it.synced && it.name == add.name).count();
    let mut text = if folders.is_empty() { "No investigations yet.\n".to_owned() } else { String::new() };
    if synced > 0 {
        let url = remote::shown_address(&add.url);
        text = format!("{} will be pushed to {url} by `tot sync`.\n", counted(synced, "investigation"));
    }
    if let Some(others @ 1..) = folders.len().checked_sub(synced) {
        let (others, name) = (counted(others, "investigation"), one_line(&add.name));
        text.push_str(&format!(
            "{others} had a remote before, which `tot sync` uses: to push to {name}, run `git push {name}` in the folder.\n"
        ));
    }
    if all && !add.own {
        let (url, root) = (remote::whole_address(&add.url), place.store.root());
        place.store.prepare()?;
        // A second remote applies only to the investigations that it was added to.
        let other = sync::default_remote(&git, root)?.is_some_and(|default| default.name != add.name);
        if other || synced == 0 && !folders.is_empty() {
            return tell(&folders, &text);
        }
        if sync::set_default_remote(&git, root, &add.name, &url, &add.prefix)? {
            text.push_str(
                "New investigations too: tot.remote is set in the git configuration of the enclosing repository.\n",
            );
        } else {
            let (setting, url) = (sync::REMOTE_SETTING, remote::shown_address(&url));
            text.push_str(&format!(
                "New investigations get no remote, because no git project encloses the root. To set one for all: \
                 `git config --global {setting} {url}`.\n"
            ));
        }
    }
    tell(&folders, &text)
}

fn add_to(store: &Store, git: &GitProgram, path: &Path, add: &AddArguments) -> Result<(), SyncError> {
    let id = store.load(path)?.investigation.meta().id;
    let (here, settings) = (git.references(path)?, git.settings(path)?);
    let Some(branch) = settings.own_branch(&here).or(here.branch.as_deref()) else {
        store.open(path)?.refuse_in_progress()?;
        return Err(SyncError::NotOwnBranch { path: path.to_owned(), branch: String::new(), own: None });
    };
    let place = match add.own {
        true => remote::RemotePlace::of_branch("main"),
        false => remote::RemotePlace::in_hub(&add.prefix, id),
    };
    store.configure(path)?;
    Ok(git.add_remote(path, branch, &add.name, &add.url, &place)?)
}
