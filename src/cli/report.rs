//! `tot report` and `tot-report`: write or serve a site.

mod open;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, Parser};

use super::check::signatures::signers;
use super::export::put;
use super::interrupt::Interrupt;
use super::place::{EVERYWHERE, PlaceArguments, WithholdArgument, origin};
use super::print::tell;
use super::serve;
use super::{CommandResult, ExitResult, Progress, done, is_repository, passed, say};
use crate::base::platform::limit_memory;
use crate::domain::NodeId;
use crate::report::{
    self, BaseUrl, IssueUrl, Range, ReadOptions, ReportError, SiteOptions, Sources, UnreadableInvestigation,
    Waiting, Writing, export, publish_into,
};
use crate::service::project::{Forge, Project};
use crate::store::Store;
use crate::text::counted;

/// The memory limit for custom templates. A stranger's template could double a string until memory is exhausted, and minijinja
/// counts steps, not bytes. Beyond the limit, the allocator ends the program before any part of the site is written. A site with
/// 10,000 nodes needs a sixth of the limit.
const MOST_MEMORY: u64 = 4 << 30;

/// Render investigations as a static site: the pages of each, and an index if there are several.
///
/// The site opens from disk, needs no JavaScript and loads nothing from other servers. It shows the committed state.
#[derive(Parser)]
#[command(name = "tot-report", version)]
pub(super) struct ReportCommand {
    #[command(flatten)]
    pub arguments: ReportArguments,
}

/// Render a site, like tot-report; default: the current investigation, or all in the root
#[derive(Args)]
#[command(after_long_help = GUIDE)]
pub(super) struct ReportArguments {
    /// Folders of investigations (also bare clones), or folders that contain several; with --open, a node or words of its title
    #[arg(value_name = "FOLDER|NODE")]
    folders: Vec<PathBuf>,
    /// Render or update the site of one investigation in `site` in the root, where tot_report writes it, and open it in your
    /// browser: `tot report --open R2.A1` opens the page of a node. In a pipe or without a display, only the path is printed
    #[arg(long, conflicts_with_all = ["out", "serve", "single_file", "compare", "rev"])]
    open: bool,
    #[command(flatten)]
    place: PlaceArguments,
    /// Output folder; an earlier site in it is replaced
    #[arg(long, value_name = "DIR", required_unless_present_any = ["dump_template", "serve", "single_file", "open"])]
    out: Option<PathBuf>,
    /// Write the report of one investigation, without its history, as one self-contained file, or to standard output for -. Beyond
    /// 2,000 nodes, only those that the answers rest on are included in full, and the page says so
    #[arg(long, value_name = "FILE", conflicts_with_all = ["out", "serve", "compare", "base_url"])]
    single_file: Option<PathBuf>,
    /// Show the state at this commit, branch or tag (one investigation only)
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
    /// Show the state at B, with a page of the changes since A; without B, the current state (one investigation only)
    #[arg(long, value_name = "A..B", conflicts_with = "rev")]
    compare: Option<Range>,
    /// Repository that the investigations are about: pages show whether each cited file has changed. Default: the one around the
    /// current folder
    #[arg(long, value_name = "DIR", help_heading = EVERYWHERE)]
    project: Option<PathBuf>,
    /// Address of the published site: adds previews and canonical links
    #[arg(long, value_name = "URL")]
    base_url: Option<BaseUrl>,
    /// Address for new issues, such as https://github.com/OWNER/NAME/issues/new: each node links to an issue prefilled with an
    /// objection
    #[arg(long, value_name = "URL")]
    issue_url: Option<IssueUrl>,
    /// Address of the project's files, such as https://git.example.org/project/src/{commit}/{path}#L{line}: citations such as
    /// src/a.rs:12 link there. {last} is the last line of a range. Default: the project's remote, if its forge is known
    #[arg(long, value_name = "TEMPLATE")]
    source_url: Option<Forge>,
    /// Serve the site on this machine instead of writing it, and show new commits immediately. Default address: 127.0.0.1:8420, or
    /// another free port. Ctrl-C stops the server
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, conflicts_with = "out",
          value_parser = serve::address)]
    serve: Option<Option<SocketAddr>>,
    /// Let --serve listen on addresses that other machines can reach: they can then read the investigations
    #[arg(long, requires = "serve", conflicts_with_all = ["open", "out", "single_file"])]
    allow_remote: bool,
    /// Check sign-offs against this file of allowed SSH signers, as tot check --signatures does. Without it, sign-offs are shown as unchecked
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    /// Leave this node's text out of every page and file, in addition to the nodes in withheld.yaml; can be given
    /// several times (one investigation only)
    #[arg(long, value_name = "NODE")]
    withhold: Vec<NodeId>,
    #[command(flatten)]
    list: WithholdArgument,
    /// Folder whose files replace those of the built-in template
    #[arg(long, value_name = "DIR")]
    template: Option<PathBuf>,
    /// Write the built-in template into this folder, to base your own on
    #[arg(long, value_name = "DIR", conflicts_with_all = ["folders", "open", "out", "single_file", "rev", "compare", "serve", "template"])]
    dump_template: Option<PathBuf>,
}

const GUIDE: &str = "\
To withhold text that must not be public, commit a file withheld.yaml in the investigation:

  withheld:
    - nodes: [R2.A1, R3.A1a]
      by: Anna
      why: names a customer

All texts of these nodes, present and past, are replaced by a note on who withholds them and why. This applies to reports,
tot diff and tot export (except bundles). Ids, states, times, agents and authors stay, and so does the same information
elsewhere: in the conclusion, the question or other nodes. Agents and clones still have everything.

A secret in the history has leaked as soon as someone else has the repository: revoke it first (change the password,
revoke the key). To remove it, rewrite the history with git-filter-repo, in a fresh clone:

  git filter-repo --replace-text secrets.txt --replace-message secrets.txt     secrets.txt: lines such as hunter2==>removed

Every commit from the first one with the secret on gets a new id. Sign-offs of these commits become invalid: delete these
tags, and sign again. Other clones and the remote still have the old history, and tot sync refuses to merge the two. Push
the new history to a new repository or branch, and have everyone clone again. Ask the forge to delete the old repository
with its caches.

Examples:
  tot-report investigations --out site                   all investigations, with an index
  tot report -i 0196 --out site                          one investigation, by its id
  tot-report investigations/ID --compare ended/1.. --out site
  tot-report investigations/ID --single-file sky.html    one page, to mail
  tot-report investigations --serve                      on this machine, with new commits as they arrive
  BROWSER=firefox tot report --open R2.A1                in this browser, the page of a node";

/// Runs the commands `tot report` and `tot-report`.
pub(super) fn run(arguments: &ReportArguments) -> ExitResult {
    let ReportArguments { folders, place, .. } = arguments;
    if let Some(dir) = &arguments.dump_template {
        report::dump_template(dir)?;
        say(&format!("The template is in {}; use it with --template.\n", dir.display()))?;
        return Ok(passed(true));
    }
    if arguments.template.is_some() {
        limit_memory(MOST_MEMORY);
    }
    let options = SiteOptions {
        template: arguments.template.clone(),
        base_url: arguments.base_url.clone(),
        issue_url: arguments.issue_url.clone(),
        ..SiteOptions::default()
    };
    let reading = ReadOptions {
        rev: arguments.rev.clone(),
        range: arguments.compare.clone(),
        project: match &arguments.project {
            Some(dir) => Some(Project::around(dir)?),
            None => Project::here(),
        },
        forge: arguments.source_url.clone(),
        withhold: arguments.withhold.clone(),
        ignore_uncommitted: arguments.list.ignore_uncommitted,
        signers: arguments.allowed_signers.as_ref().map(|file| signers(Some(file))).transpose()?,
    };
    if arguments.open {
        let node: Vec<String> = folders.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        return done(open::run(&node, place, reading, &options));
    }
    let source = SiteSource { paths: place.paths(folders)?, reading };
    source.check()?;
    let progress = Progress::new();
    if let Some(address) = &arguments.serve {
        return done(serve::run(source, options, *address, arguments.allow_remote));
    }
    if let Some(file) = &arguments.single_file {
        return done(single_file(&source, &options, file, &progress));
    }
    let Some(out) = &arguments.out else { return Ok(passed(true)) };
    let watched = Watched { progress: &progress, interrupt: Some(Interrupt::watch()?) };
    let folders = source.folders()?;
    let writing = Writing::begin(out, &watched)?;
    let published = publish_into(writing, source.all(&folders), &options, &watched)?;
    progress.clear();
    note_unreadable(&published.unreadable);
    let kept = match published.kept {
        0 => String::new(),
        kept => format!(", {kept} unchanged"),
    };
    let shown = counted(published.shown(), "investigation");
    say(&format!("{shown}{kept}: {}\n", out.join("index.html").display()))?;
    Ok(passed(published.unreadable.is_empty()))
}

/// Writes one investigation as one file.
fn single_file(
    source: &SiteSource,
    options: &SiteOptions,
    file: &Path,
    progress: &Progress,
) -> CommandResult {
    let folders = source.folders()?;
    let [folder] = folders.as_slice() else {
        return Err(format!("--single-file takes one investigation, but there are {}", folders.len()).into());
    };
    progress.show(&format!("reading {}", folder.display()));
    let (input, _) = source.reading.read(&Store::new(folder), folder)?;
    progress.show("rendering");
    let page = export::html(&input, options)?;
    progress.clear();
    if file == Path::new("-") {
        return put(None, page.bytes);
    }
    put(Some(file), page.bytes)?;
    let short = match page.in_short {
        0 => String::new(),
        number => format!(", {number} nodes by title only"),
    };
    say(&format!("1 investigation{short}: {}\n", file.display()))
}

/// Renders one investigation into a folder.
pub(super) fn render_one(
    repository: PathBuf,
    reading: ReadOptions,
    options: &SiteOptions,
    out: &Path,
    progress: &Progress,
) -> CommandResult {
    let source = SiteSource { paths: vec![repository], reading };
    let watched = Watched { progress, interrupt: Some(Interrupt::watch()?) };
    let writing = Writing::begin(out, &watched)?;
    Ok(publish_into(writing, source.all(&source.paths), options, &watched).map(drop)?)
}

/// A run that can be interrupted at the terminal.
pub(super) struct Watched<'p> {
    pub progress: &'p Progress,
    pub interrupt: Option<Interrupt>,
}

impl Waiting for Watched<'_> {
    fn show(&self, what: &dyn Fn() -> String) {
        self.progress.count(what);
    }

    fn check(&self) -> Result<(), ReportError> {
        self.interrupt.as_ref().map_or(Ok(()), Interrupt::check)
    }
}

/// Reports unreadable investigations on stderr.
pub(super) fn note_unreadable(unreadable: &[UnreadableInvestigation]) {
    for one in unreadable {
        let what = if one.kept.is_some() { "kept the earlier pages of" } else { "left out" };
        tell(&format!("tot-report: {what} {}: {}", one.name, one.reason));
    }
}

/// The investigations to read.
pub(super) struct SiteSource {
    /// The given folders. Each is an investigation or contains several.
    paths: Vec<PathBuf>,
    reading: ReadOptions,
}

/// Returns the path itself if it is an investigation, otherwise the investigation folders in it.
fn folders_of(path: &Path) -> Vec<PathBuf> {
    if is_repository(path) { vec![origin(path)] } else { Store::new(path).folders() }
}

impl SiteSource {
    fn check(&self) -> CommandResult {
        let ReadOptions { rev, range, withhold, .. } = &self.reading;
        let alone = match (rev, range) {
            (Some(_), _) => "--rev",
            (_, Some(_)) => "--compare",
            _ if !withhold.is_empty() => "--withhold",
            _ => return Ok(()),
        };
        if self.paths.iter().map(|path| folders_of(path).len()).sum::<usize>() > 1 {
            return Err(format!(
                "{alone} takes one investigation, because commits and nodes differ between investigations"
            )
            .into());
        }
        Ok(())
    }

    /// Returns the investigation folders.
    pub(super) fn folders(&self) -> CommandResult<Vec<PathBuf>> {
        let mut folders = Vec::new();
        for path in &self.paths {
            let found = folders_of(path);
            if found.is_empty() {
                let reason = if path.exists() { "contains no investigation" } else { "does not exist" };
                return Err(format!(
                    "{} {reason}: give an investigation's folder, or a folder that contains several",
                    path.display()
                )
                .into());
            }
            folders.extend(found);
        }
        Ok(folders)
    }

    /// Returns the folders with the settings for reading them.
    pub(super) fn all<'s>(&'s self, folders: &'s [PathBuf]) -> Sources<'s> {
        Sources { folders, roots: &self.paths, reading: &self.reading, store: None }
    }
}
