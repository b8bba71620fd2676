//! `tot-report`: reads investigations, renders them, and writes the site or serves it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, Parser};

use super::hub::Hub;
use super::place::{Place, RootArgument, WithholdArgument};
use super::print::tell;
use super::publish::publish;
use super::serve::{self, Address};
use super::{Outcome, Progress, chain, is_repository, say};
use crate::domain::{NodeId, Pin, SessionId};
use crate::platform::limit_memory;
use crate::project::{Evidence, Forge, Project};
use crate::remote::GitProgram;
use crate::report::{
    self, BaseUrl, Comparison, Contents, IssueUrl, ReportInput, SiteOptions, Unreadable, export,
};
use crate::signoff;
use crate::store::{FindError, Since, Snapshot, Store};
use crate::withhold::List;

/// A template may come from a stranger, and a few lines of one double a text until no memory is left; minijinja counts
/// steps, not bytes. Beyond this the program is ended by the allocator, before anything of the site is written.
/// 10,000 nodes take a sixth of it.
const MOST_MEMORY: u64 = 4 << 30;

/// Renders investigations as a static site: one page set each, and an index over several.
///
/// The site opens from disk, needs no JavaScript and loads nothing from elsewhere. It shows the committed state.
#[derive(Parser)]
#[command(name = "tot-report", version)]
pub(super) struct ReportCommand {
    /// Folders of investigations (bare clones too), or a folder that holds several
    #[arg(value_name = "INVESTIGATION", required_unless_present_any = ["dump_template", "hub"])]
    investigations: Vec<PathBuf>,
    #[command(flatten)]
    arguments: ReportArguments,
}

/// The same as the command tot-report, and takes ids, too; without any, the investigation that you stand in, or all in the root
#[derive(Args)]
#[command(after_long_help = GUIDE)]
pub(super) struct InRootArguments {
    /// Ids, or beginnings or endings of them; or folders of investigations (bare clones too), or a folder that holds several
    #[arg(value_name = "INVESTIGATION")]
    investigations: Vec<PathBuf>,
    #[command(flatten)]
    root: RootArgument,
    #[command(flatten)]
    arguments: ReportArguments,
}

#[derive(Args)]
#[command(after_long_help = GUIDE)]
struct ReportArguments {
    /// Take all investigations of this hub instead, or the one of a repository of its own. They are cloned for this run, and no
    /// clone is kept
    #[arg(long, value_name = "URL", conflicts_with_all = ["investigations", "serve"])]
    hub: Option<String>,
    /// Where the site goes; an earlier site there is replaced
    #[arg(long, value_name = "DIR", required_unless_present_any = ["dump_template", "serve", "single_file"])]
    out: Option<PathBuf>,
    /// Write the report of one investigation, without its history, as one file instead, which opens without any other. Of more
    /// than 2,000 nodes it has those whole that the answers rest on, and says so
    #[arg(long, value_name = "FILE", conflicts_with_all = ["out", "serve", "compare", "base_url"])]
    single_file: Option<PathBuf>,
    /// Show the state at this commit, branch or tag (for one investigation)
    #[arg(long, value_name = "REV")]
    rev: Option<String>,
    /// Show the state at B, with a page of what changed since A; without B, since A until now (for one investigation)
    #[arg(long, value_name = "A..B", conflicts_with = "rev")]
    compare: Option<Range>,
    /// The repository that the investigations are about: pages say how each cited file of it stands now. Without it the one
    /// around the current folder
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// The address at which the site will stand: adds a feed of ended investigations, previews and canonical links
    #[arg(long, value_name = "URL")]
    base_url: Option<BaseUrl>,
    /// Where your forge takes new issues, as https://github.com/OWNER/NAME/issues/new: each node has a link to one that is filled
    /// in with an objection to it
    #[arg(long, value_name = "URL")]
    issue_url: Option<IssueUrl>,
    /// Where people see the files of the project, as https://git.example.org/project/src/{commit}/{path}#L{line}: what texts cite
    /// as src/a.rs:12 leads there. {last} is the last of several lines. Without it the forge of the project's remote, if it is a
    /// known one
    #[arg(long, value_name = "TEMPLATE")]
    source_url: Option<Forge>,
    /// Serve the site on this machine instead of writing it, and show every new commit at once. Without an address,
    /// 127.0.0.1:8420 or another free port. Ctrl-C ends it
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, conflicts_with = "out")]
    serve: Option<Option<Address>>,
    /// Let --serve listen where other machines can reach it: everyone who does can read the investigations
    #[arg(long, requires = "serve", conflicts_with = "out")]
    allow_remote: bool,
    /// Check the signatures of sign-offs: whose keys of ssh are allowed, as for tot verify. Without it sign-offs are shown as
    /// unchecked
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    /// Leave the texts of this node out of every page and file, beside those that withheld.yaml lists; for several, give it
    /// several times (for one investigation)
    #[arg(long, value_name = "NODE")]
    withhold: Vec<NodeId>,
    #[command(flatten)]
    list: WithholdArgument,
    /// A folder whose files replace those of the built-in template
    #[arg(long, value_name = "DIR")]
    template: Option<PathBuf>,
    /// Write the built-in template into this folder, as a start for one of your own
    #[arg(long, value_name = "DIR")]
    dump_template: Option<PathBuf>,
}

const GUIDE: &str = "\
To leave out what must not be public, commit a file withheld.yaml in the investigation:

  withheld:
    - nodes: [R2.A1, R3.A1a]
      by: Anna
      why: names a customer

All texts of these nodes, now and in the history, are replaced by who withholds them and why: in every report, in what tot
export gives (but the bundle) and in tot diff. Their ids, states, times, agents and authors stay, and so does
what else says the same: the conclusion, the question, other nodes. Agents and clones still have all of it.

A secret that is in the history is out as soon as somebody else has the repository: make it worthless first (a new
password, a revoked key). To remove it, rewrite the history with git-filter-repo, in a fresh clone:

  git filter-repo --replace-text secrets.txt --replace-message secrets.txt     secrets.txt: lines as hunter2==>removed

Every commit from the first one with the secret on has another id then. Sign-offs of these commits are invalid, since their
signatures no longer fit: delete these tags, and sign again. Other clones and the remote still have the old history, and
tot sync refuses to join the two: push the new one to a new repository or branch, have all others clone it anew, and have
the forge delete the old one with its caches.

Examples:
  tot-report investigations --out site                   all of them, with an index
  tot report 0196 --out site                             one, by its id; without it the one that you stand in, or all
  tot-report investigations/ID --compare ended/1.. --out site
  tot-report investigations/ID --single-file sky.html    one page, to be mailed
  tot-report investigations --serve                      on this machine, with every new commit at once";

/// Two commits: `ended/1..HEAD`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub from: String,
    pub to: String,
}

/// An invalid range.
#[derive(Debug, thiserror::Error)]
#[error("give two commits with two dots between them: HEAD~3..HEAD, or ended/1.. for what changed since")]
pub(super) struct NoRange;

impl FromStr for Range {
    type Err = NoRange;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (from, to) = text.split_once("..").ok_or(NoRange)?;
        if from.is_empty() || to.contains("..") || to.starts_with('.') {
            return Err(NoRange);
        }
        let to = if to.is_empty() { "HEAD" } else { to };
        Ok(Range { from: from.to_owned(), to: to.to_owned() })
    }
}

/// The command `tot-report`.
pub(super) fn run(command: &ReportCommand) -> Outcome {
    write(&command.investigations, &command.arguments)
}

/// The command `tot report`.
pub(super) fn run_in_root(command: &InRootArguments) -> Outcome {
    let InRootArguments { investigations, root, arguments } = command;
    let place = root.place();
    let is_elsewhere = arguments.hub.is_some() || arguments.dump_template.is_some();
    let paths = match investigations.as_slice() {
        [] if is_elsewhere => Vec::new(),
        [] => vec![place.here()?.to_owned()],
        given => given.iter().map(|path| path_or_id(&place, path)).collect::<Result<_, _>>()?,
    };
    write(&paths, arguments)
}

/// What is there by that name, or else the folder of the investigation whose id it is, or a part of one.
fn path_or_id(place: &Place, given: &Path) -> Result<PathBuf, FindError> {
    let Some(id) = given.to_str().filter(|_| !given.exists()) else { return Ok(given.to_owned()) };
    match place.store.find(id) {
        // What is no path either is told as one.
        Err(FindError::NotFound { .. }) => Ok(given.to_owned()),
        found => found,
    }
}

fn write(investigations: &[PathBuf], arguments: &ReportArguments) -> Outcome {
    if arguments.template.is_some() {
        limit_memory(MOST_MEMORY);
    }
    let options = SiteOptions {
        template: arguments.template.clone(),
        base_url: arguments.base_url.clone(),
        issue_url: arguments.issue_url.clone(),
        ..SiteOptions::default()
    };
    if let Some(dir) = &arguments.dump_template {
        report::dump_template(dir)?;
        say(&format!("The template stands in {}; give it back with --template.\n", dir.display()))?;
    }
    let progress = Progress::new();
    let hub = arguments.hub.as_ref().map(|address| Hub::clone(address, &progress)).transpose()?;
    let stores = match &hub {
        Some(hub) => vec![Store::new(hub.folder.path())],
        None => investigations.iter().map(Store::new).collect(),
    };
    let source = Source {
        stores,
        missing: hub.as_ref().map(|hub| hub.failed.clone()).unwrap_or_default(),
        rev: arguments.rev.clone(),
        range: arguments.compare.clone(),
        withhold: arguments.withhold.clone(),
        ignore_uncommitted: arguments.list.ignore_uncommitted,
        signers: arguments.allowed_signers.as_deref().map(Signers::of).transpose()?,
        project: match &arguments.project {
            Some(dir) => Some(Project::around(dir)?),
            None => Project::here(),
        },
        forge: arguments.source_url.clone(),
    };
    source.check()?;
    if let Some(address) = &arguments.serve {
        return serve::run(source, options, address.as_ref(), arguments.allow_remote);
    }
    if let Some(file) = &arguments.single_file {
        return single_file(&source, &options, file, &progress);
    }
    let Some(out) = &arguments.out else { return Ok(()) };
    let published = publish(&source, &options, out, &progress)?;
    progress.clear();
    note_unreadable(&published.unreadable);
    let counted = |number| match number {
        1 => "1 investigation".to_owned(),
        number => format!("{number} investigations"),
    };
    let kept = match published.kept {
        0 => String::new(),
        kept => format!(", {kept} unchanged"),
    };
    say(&format!("{}{kept}: {}\n", counted(published.shown), out.join("index.html").display()))
}

/// Writes one investigation as one file.
fn single_file(source: &Source, options: &SiteOptions, file: &Path, progress: &Progress) -> Outcome {
    let folders = source.folders()?;
    let [(store, folder)] = folders.as_slice() else {
        return Err(
            format!("--single-file goes with one investigation, and there are {}", folders.len()).into()
        );
    };
    progress.show(&format!("reading {}", folder.display()));
    let (input, _) = source.read_one(store, folder)?;
    progress.show("rendering");
    let page = export::html(&input, options)?;
    progress.clear();
    std::fs::write(file, &page.bytes).map_err(|error| format!("can't write {}: {error}", file.display()))?;
    let short = match page.in_short {
        0 => String::new(),
        number => format!(", {number} nodes of it by their titles alone"),
    };
    say(&format!("1 investigation{short}: {}\n", file.display()))
}

/// Renders one investigation into a folder.
pub(super) fn render_one(
    repository: &Path,
    project: Option<Project>,
    options: &SiteOptions,
    out: &Path,
    progress: &Progress,
) -> Outcome {
    let source = Source {
        stores: vec![Store::new(repository)],
        missing: Vec::new(),
        rev: None,
        range: None,
        withhold: Vec::new(),
        ignore_uncommitted: false,
        signers: None,
        project,
        forge: None,
    };
    publish(&source, options, out, progress).map(drop)
}

/// Says on stderr what the index says of investigations that can't be read.
pub(super) fn note_unreadable(unreadable: &[Unreadable]) {
    for one in unreadable {
        tell(&format!("tot-report: left out {}: {}", one.name, one.reason));
    }
}

/// What is to be read.
pub(super) struct Source {
    /// One for each path that was given: the folder of an investigation, or of several. They remember what was read,
    /// for the next time.
    stores: Vec<Store>,
    /// Those that are not there, and are named on the index.
    pub(super) missing: Vec<Unreadable>,
    pub(super) rev: Option<String>,
    pub(super) range: Option<Range>,
    /// What the investigations are about, if that is known.
    pub(super) project: Option<Project>,
    /// Where people see its files, if that was said.
    pub(super) forge: Option<Forge>,
    pub(super) withhold: Vec<NodeId>,
    /// Whether a list of withheld nodes counts as it is committed, although it has changed since.
    pub(super) ignore_uncommitted: bool,
    pub(super) signers: Option<Signers>,
}

/// With what sign-offs are checked.
pub(super) struct Signers {
    git: GitProgram,
    allowed: PathBuf,
}

impl Signers {
    pub(super) fn of(allowed: &Path) -> Result<Signers, Box<dyn std::error::Error>> {
        // Else all would be called unchecked, for another reason than this one.
        std::fs::metadata(allowed)
            .map_err(|error| format!("{} can't be read: {error}", allowed.display()))?;
        Ok(Signers { git: GitProgram::find(false)?, allowed: allowed.to_owned() })
    }
}

/// The folders of what was given: of an investigation, or of several.
fn folders_of(store: &Store) -> Vec<PathBuf> {
    let path = store.root();
    if is_repository(path) { vec![path.to_owned()] } else { store.folders() }
}

impl Source {
    fn check(&self) -> Outcome {
        let alone = match (&self.rev, &self.range) {
            (Some(_), _) => "--rev",
            (_, Some(_)) => "--compare",
            _ if !self.withhold.is_empty() => "--withhold",
            _ => return Ok(()),
        };
        if self.stores.iter().map(|store| folders_of(store).len()).sum::<usize>() > 1 {
            return Err(format!(
                "{alone} goes with one investigation: its commits and nodes are not those of another"
            )
            .into());
        }
        Ok(())
    }

    /// The folders of the investigations, each with the store that it is in.
    pub(super) fn folders(&self) -> Result<Vec<(&Store, PathBuf)>, Box<dyn std::error::Error>> {
        let mut folders = Vec::new();
        for store in &self.stores {
            let path = store.root();
            let found = folders_of(store);
            if let Some(first) = self.missing.first().filter(|_| found.is_empty()) {
                return Err(
                    format!("no investigation could be cloned; {}: {}", first.name, first.reason).into()
                );
            }
            if found.is_empty() {
                let reason = if path.exists() { "holds no investigation" } else { "does not exist" };
                return Err(format!(
                    "{} {reason}: give the folder of one, or a folder of several",
                    path.display()
                )
                .into());
            }
            folders.extend(found.into_iter().map(|folder| (store, folder)));
        }
        Ok(folders)
    }

    /// The investigations. One among several that can't be read does not keep the others from being shown.
    pub(super) fn read(&self, progress: &Progress) -> Result<Contents, Box<dyn std::error::Error>> {
        let folders = self.folders()?;
        let mut contents = Contents::default();
        if let [(store, folder)] = folders.as_slice() {
            progress.show(&format!("reading {}", folder.display()));
            let (input, comparison) = self.read_one(store, folder)?;
            contents.inputs.push(input);
            contents.comparison = comparison;
            return Ok(contents);
        }
        let mut known = HashMap::new();
        for (at, (store, folder)) in folders.iter().enumerate() {
            progress.count(|| format!("reading investigation {} of {}", at + 1, folders.len()));
            let name = name_of(folder);
            let mut unreadable = |reason| contents.unreadable.push(Unreadable { name: name.clone(), reason });
            match self.read_one(store, folder) {
                Ok((input, _)) => {
                    let id = input.snapshot.investigation.meta().id;
                    if let Some(other) = known.insert(id, name.clone()) {
                        unreadable(twin(id, &other));
                    } else {
                        contents.inputs.push(input);
                    }
                }
                Err(error) => unreadable(without_place(error.as_ref(), folder)),
            }
        }
        refuse_none(&contents.unreadable, folders.len())?;
        Ok(contents)
    }

    /// How these stand in the project now.
    pub(super) fn evidence<'p>(&self, pins: impl IntoIterator<Item = &'p Pin>) -> Evidence {
        let found = self.project.as_ref().map(|project| project.evidence(pins)).unwrap_or_default();
        Evidence { forge: self.forge.clone().or(found.forge), ..found }
    }

    /// One investigation, with what it is compared with.
    pub(super) fn read_one(
        &self,
        store: &Store,
        folder: &Path,
    ) -> Result<(ReportInput, Option<Comparison>), Box<dyn std::error::Error>> {
        let rev = self.rev.as_ref().or(self.range.as_ref().map(|range| &range.to));
        let snapshot = match rev {
            Some(rev) => store.load_at(folder, rev)?,
            None => store.load(folder)?,
        };
        let mut comparison = match &self.range {
            None => None,
            Some(Range { from, to }) => {
                let before = store.load_at(folder, from)?;
                let relation = store.relation(&before, &snapshot)?;
                Some(Comparison { before, relation, names: [from.clone(), to.clone()] })
            }
        };
        let history = store.history(&snapshot)?;
        // If the newest commit was asked for by its name, the pages need not say so.
        let rev = rev.filter(|rev| *rev != "HEAD").cloned();
        let evidence = self.evidence(snapshot.investigation.pins().map(|(_, pin)| pin));
        let mut sign_offs = match &self.signers {
            None => signoff::unchecked(store, &snapshot)?,
            Some(signers) => signoff::checked(store, &snapshot, &signers.git, Some(&signers.allowed))?,
        };
        if rev.is_some() {
            // Those of later states say nothing of this one, and nothing is wrong with them.
            sign_offs.all.retain(|it| it.since != Since::Elsewhere);
        }
        let listed = report::withheld(store, folder, self.ignore_uncommitted)?;
        let mut named = List::default();
        for node in &self.withhold {
            named.add(node.clone(), "the publisher", None);
        }
        // These are ids of what is shown.
        let before: Vec<&Snapshot> = comparison.iter().map(|comparison| &comparison.before).collect();
        let named = named.follow(&snapshot, &history, &before)?;
        let attachments = store.attachments(&snapshot)?;
        let ends = report::ends(store, folder, &history)?;
        let nothing = Default::default();
        let mut input =
            ReportInput { snapshot, history, rev, sign_offs, evidence, attachments, withheld: nothing, ends };
        for withheld in [listed, named] {
            if let Some(comparison) = &mut comparison {
                withheld.hide(&mut comparison.before);
            }
            input.withhold(&withheld);
        }
        Ok((input, comparison))
    }
}

/// Why the second of two that have one id is not shown.
pub(super) fn twin(id: SessionId, other: &str) -> String {
    format!("it is the investigation {id}, which stands in {other} too")
}

/// An error on a page: a site says nothing of the machine that it was made on.
pub(super) fn without_place(error: &(dyn std::error::Error + 'static), folder: &Path) -> String {
    chain(error).replace(&folder.display().to_string(), &name_of(folder))
}

/// Several of which none can be read are an error.
pub(super) fn refuse_none(unreadable: &[Unreadable], all: usize) -> Outcome {
    match unreadable.first().filter(|_| unreadable.len() == all) {
        None => Ok(()),
        Some(first) => {
            Err(format!("none of the {all} investigations can be read; {}: {}", first.name, first.reason)
                .into())
        }
    }
}

pub(super) fn name_of(folder: &Path) -> String {
    // `.` has a name only in its full form.
    let full = folder.canonicalize();
    let name = full.as_deref().unwrap_or(folder).file_name();
    name.map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned())
}
