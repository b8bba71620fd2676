//! Builds a site in a folder or in memory. Each core reads, renders and writes one investigation at a time. Unchanged output
//! from an earlier run is reused.
//!
//! # When a part is reused
//!
//! A part is reused if all its inputs are unchanged: the refs of the repository (the commit, its branch and tags, the
//! boundary of a shallow clone), the state of the cited files, and the inputs of `parts::maker`. However, some parts
//! are always rebuilt: those with errors or gaps, which a fetch may fix; those with checked signatures, which depend on
//! keys and the date; and those that show a commit other than the newest.
//!
//! The index is always rebuilt from the stored entries.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::parts::{self, FileMark, FileMarks, Manifest, SitePart};
use super::{
    Builder, Comparison, ReadOptions, ReportError, ReportInput, ReportReadError, SiteOptions, Templates,
    UnreadableInvestigation, Writing, check_uncommitted,
};
use crate::base::parallel;
use crate::domain::SessionId;
use crate::service::signoff::{SignOff, SignOffState};
use crate::store::{Since, Store};
use crate::text::causes;

/// The investigations of a site.
#[derive(Clone, Copy)]
pub struct Sources<'s> {
    /// Their folders.
    pub folders: &'s [PathBuf],
    /// The folders in which all investigations are shown. One that an earlier run has shown, and whose folder is still there, is
    /// unreadable rather than gone.
    pub roots: &'s [PathBuf],
    /// The options for reading.
    pub reading: &'s ReadOptions,
    /// A store whose caches are kept for the next run. Without it, each investigation is read with a temporary store.
    pub store: Option<&'s Store>,
}

/// The destination of a site, which may contain the parts of an earlier run.
pub trait SiteTarget: Sync {
    /// Returns the parts built by an earlier run with this maker, or with any.
    fn earlier(&self, maker: Option<&str>) -> &[SitePart];

    /// Writes a file to a path in the site.
    ///
    /// # Errors
    ///
    /// Returns an error if the path is not valid in a site, or if the file system fails.
    fn put(&self, path: &str, bytes: Vec<u8>) -> Result<FileMark, ReportError>;

    /// Keeps the files of an earlier part. Returns false and keeps none of them if any file was modified or removed.
    ///
    /// # Errors
    ///
    /// Returns an error if the file system fails.
    fn keep(&self, part: &SitePart) -> Result<bool, ReportError>;

    /// Keeps all files of the earlier site in a folder, whose path ends in `/`, and returns them.
    ///
    /// # Errors
    ///
    /// Returns an error if the file system fails.
    fn keep_folder(&self, folder: &str) -> Result<FileMarks, ReportError>;
}

/// The caller waiting for a site.
pub trait Waiting: Sync {
    /// Shows the current step in a few words.
    fn show(&self, _what: &dyn Fn() -> String) {}

    /// Checks whether the site is still wanted.
    ///
    /// # Errors
    ///
    /// Returns [`ReportError::Interrupted`] if the site is no longer wanted.
    fn check(&self) -> Result<(), ReportError> {
        Ok(())
    }
}

/// A caller that shows nothing and never interrupts.
impl Waiting for () {}

/// A complete site.
#[derive(Debug, Default)]
pub struct Published {
    /// The investigations. If `maker` is `None`, the next run rebuilds them all.
    pub(super) parts: Vec<SitePart>,
    pub(super) maker: Option<String>,
    /// The files that belong to no part.
    pub rest: FileMarks,
    /// The number of parts reused from the earlier site.
    pub kept: usize,
    /// The unreadable investigations.
    pub unreadable: Vec<UnreadableInvestigation>,
}

impl Published {
    /// Returns the number of investigations shown.
    pub fn shown(&self) -> usize {
        self.parts.len()
    }

    /// Returns the number of files.
    pub fn files(&self) -> usize {
        self.rest.len() + self.parts.iter().map(|part| part.files.len()).sum::<usize>()
    }

    /// Returns the number of nodes and the number of commits.
    pub fn told(&self) -> (usize, usize) {
        let entries = self.parts.iter().map(|part| &part.entry);
        entries.fold((0, 0), |(nodes, commits), it| {
            (nodes + it.facts.committed + it.facts.pending, commits + it.commits)
        })
    }

    /// Returns a digest of everything the index shows.
    pub(super) fn state(&self) -> String {
        let parts = self.parts.iter().map(|part| &part.shown);
        parts::digest(parts.chain(self.unreadable.iter().map(|one| &one.name)))
    }

    pub(super) fn manifest(&self) -> Option<Manifest> {
        Some(Manifest { maker: self.maker.clone()?, parts: self.parts.clone() })
    }
}

/// Builds the site in a folder, replacing the site from an earlier run.
///
/// # Errors
///
/// Returns an error if [`publish`] fails, or if the folder contains something else by now.
pub fn publish_into(
    writing: Writing,
    sources: Sources<'_>,
    options: &SiteOptions,
    waiting: &dyn Waiting,
) -> Result<Published, ReportError> {
    let templates = Templates::load(options)?;
    let published = publish(sources, &templates, &writing, waiting)?;
    writing.finish(&published)?;
    Ok(published)
}

/// Reads, renders and writes all files.
///
/// # Errors
///
/// Returns an error if the only investigation can't be read, if none of several can be read, if a template fails, or if the
/// target fails.
pub fn publish(
    sources: Sources<'_>,
    templates: &Templates,
    target: &impl SiteTarget,
    waiting: &dyn Waiting,
) -> Result<Published, ReportError> {
    let reading = sources.reading;
    let folders = &*with_unrecognized(sources, target.earlier(None));
    let sources = Sources { folders, ..sources };
    let several = folders.len() != 1;
    let program = PROGRAM.as_deref();
    let maker = program.map(|program| parts::maker(program, templates, several, &surroundings(reading)));
    let earlier = maker.as_deref().map_or(&[][..], |maker| target.earlier(Some(maker)));
    let work = SiteWork {
        sources,
        builder: Builder::new(templates, several),
        earlier: earlier.iter().filter(|it| it.is_lasting).map(|part| (part.state.as_str(), part)).collect(),
        target,
        waiting,
        done: AtomicUsize::new(0),
    };
    let mut made = Published { maker, ..Published::default() };
    let mut rest = FileMarks::new();
    work.builder.assets(&mut work.put_into(&mut rest))?;
    let mut take = |(part, is_kept)| {
        made.kept += usize::from(is_kept);
        made.parts.push(part);
    };
    if let ([folder], false) = (folders, several) {
        let own = Store::new(folder);
        let subject = work.subject(folder, sources.store.unwrap_or(&own));
        take(match work.kept(&subject)? {
            Some(part) => (part, true),
            None => {
                waiting.show(&|| format!("reading {}", folder.display()));
                let (input, comparison) = reading.read(subject.store, folder)?;
                (work.make(&subject, &input, comparison.as_ref())?, false)
            }
        });
    } else {
        waiting.show(&|| "checking the investigations".to_owned());
        let cores = parallel::cores();
        let own: Vec<Store> = folders.iter().map(Store::new).collect();
        let pairs: Vec<_> = folders.iter().zip(&own).collect();
        let subjects =
            parallel::each(&pairs, cores, |(folder, own)| work.subject(folder, sources.store.unwrap_or(own)));
        let twins = twins(&subjects);
        let jobs: Vec<_> = subjects.iter().zip(twins).collect();
        let parts = parallel::each(&jobs, cores, |(subject, twin)| {
            let part = work.one_of_several(subject, twin.as_ref());
            work.done.fetch_add(1, Ordering::Relaxed);
            part
        });
        let mut left_out = Vec::new();
        for (subject, part) in subjects.iter().zip(parts) {
            match part? {
                Ok(part) => take(part),
                Err(reason) => left_out.push((subject, reason)),
            }
        }
        for (subject, Omitted { reason, may_stay }) in left_out {
            let stale = if may_stay { work.stale(subject, &made.parts)? } else { None };
            let kept = stale.as_ref().map(|part| part.entry.href.clone());
            made.unreadable.push(UnreadableInvestigation { name: name_of(subject.folder), reason, kept });
            made.parts.extend(stale);
        }
        let all = folders.len();
        if let Some(first) = made.unreadable.first().filter(|_| made.unreadable.len() == all) {
            return Err(ReportError::NoneReadable { all, first: first.clone() });
        }
    }
    waiting.show(&|| "writing the index".to_owned());
    let entries = made.parts.iter().map(|part| part.entry.clone()).collect();
    work.builder.rest(entries, &made.unreadable, &made.state(), &mut work.put_into(&mut rest))?;
    made.rest = rest;
    Ok(made)
}

/// A digest of the executable, since the version does not change with every build. `None` if the file can't be read.
static PROGRAM: LazyLock<Option<String>> = LazyLock::new(|| {
    let program = std::env::current_exe().ok()?;
    Some(parts::digest([std::fs::read(program).ok()?]))
});

/// Returns the reading options that affect pages, as a string.
fn surroundings(reading: &ReadOptions) -> String {
    format!("{:?} {:?}", reading.signers.is_some(), reading.forge())
}

/// Returns the folders, with those that an earlier run has shown and that are still in a root, but are no longer recognized as
/// investigations.
fn with_unrecognized(sources: Sources<'_>, earlier: &[SitePart]) -> Vec<PathBuf> {
    let mut folders = sources.folders.to_vec();
    // Anyone may have edited the list of parts.
    let is_name = |name: &&str| Path::new(name).file_name().is_some_and(|it| it == *name);
    let named = earlier.iter().map(|part| part.folder.as_str()).filter(is_name);
    let there = named.flat_map(|name| sources.roots.iter().map(move |root| root.join(name)));
    for folder in there.filter(|folder| fs::symlink_metadata(folder).is_ok()) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// Returns the folder name, which stands in for the title of an unreadable investigation.
fn name_of(folder: &Path) -> String {
    // `.` has a name only in its absolute form.
    let full = folder.canonicalize();
    let name = full.as_deref().unwrap_or(folder).file_name();
    name.map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Formats an error for a page, without local paths.
fn without_place(error: &ReportReadError, folder: &Path) -> String {
    let hint = error.hint().map(|hint| format!(". {hint}")).unwrap_or_default();
    format!("{}{hint}", causes(error)).replace(&folder.display().to_string(), &name_of(folder))
}

/// Returns the reason to skip each investigation whose id occurred earlier in the list.
fn twins<'w>(subjects: &'w [SiteSubject<'w>]) -> Vec<Option<Omitted>> {
    let mut known: HashMap<SessionId, &SiteSubject<'w>> = HashMap::new();
    let twin = |subject: &'w SiteSubject<'w>| {
        let SiteSubject { id: Some(id), .. } = subject else { return None };
        let first = *known.entry(*id).or_insert(subject);
        let place = || format!("it is the investigation {id}, which is also in {}", name_of(first.folder));
        (!std::ptr::eq(first, subject)).then(|| Omitted { reason: place(), may_stay: false })
    };
    subjects.iter().map(twin).collect()
}

/// An investigation to show.
struct SiteSubject<'s> {
    folder: &'s Path,
    store: &'s Store,
    /// The digest of its state, if known.
    state: Option<String>,
    /// True if its pages depend only on its state.
    is_lasting: bool,
    /// The id, or `None` if it can't be read. Reading the investigation then reports the error.
    id: Option<SessionId>,
}

/// The part for one of several investigations, and whether it comes from the earlier site; or the reason why the
/// investigation is left out.
type Made = Result<(SitePart, bool), Omitted>;

/// The reason why an investigation is left out.
#[derive(Clone)]
struct Omitted {
    reason: String,
    /// True if its pages from an earlier run may stay. They may contain text that the investigation withholds by now.
    may_stay: bool,
}

/// The data shared by the threads.
struct SiteWork<'w, T> {
    sources: Sources<'w>,
    builder: Builder<'w>,
    /// The parts of the earlier site, by state.
    earlier: HashMap<&'w str, &'w SitePart>,
    target: &'w T,
    waiting: &'w dyn Waiting,
    done: AtomicUsize,
}

impl<T: SiteTarget> SiteWork<'_, T> {
    fn subject<'f>(&self, folder: &'f Path, store: &'f Store) -> SiteSubject<'f> {
        let ReadOptions { rev, range, withhold, ignore_uncommitted, .. } = self.sources.reading;
        // An investigation that would be refused is not reused either.
        let is_listed = *ignore_uncommitted || check_uncommitted(store, folder).is_ok();
        let is_lasting = rev.is_none() && range.is_none() && withhold.is_empty() && is_listed;
        let mut subject = SiteSubject { folder, store, state: state(store, folder), is_lasting, id: None };
        let known = self.known(&subject).and_then(|part| part.entry.id().parse().ok());
        subject.id = known.or_else(|| store.id(folder).ok());
        subject
    }

    /// Returns the earlier site's part for the same state, if there is one.
    fn known(&self, subject: &SiteSubject<'_>) -> Option<&SitePart> {
        let state = subject.state.as_deref().filter(|_| subject.is_lasting)?;
        self.earlier.get(state).copied()
    }

    fn put_into<'m>(
        &'m self,
        marks: &'m mut FileMarks,
    ) -> impl FnMut(&str, Vec<u8>) -> Result<(), ReportError> + 'm {
        |path, bytes| {
            self.waiting.check()?;
            marks.insert(path.to_owned(), self.target.put(path, bytes)?);
            Ok(())
        }
    }

    fn one_of_several(&self, subject: &SiteSubject<'_>, twin: Option<&Omitted>) -> Result<Made, ReportError> {
        if let Some(twin) = twin {
            return Ok(Err(twin.clone()));
        }
        if let Some(part) = self.kept(subject)? {
            return Ok(Ok((part, true)));
        }
        let (input, _) = match self.sources.reading.read(subject.store, subject.folder) {
            Ok(read) => read,
            Err(error) => {
                let may_stay = !matches!(error, ReportReadError::Withheld(_));
                return Ok(Err(Omitted { reason: without_place(&error, subject.folder), may_stay }));
            }
        };
        if Some(input.snapshot.investigation.meta().id) != subject.id {
            let reason = "another investigation replaced it while it was being read".to_owned();
            return Ok(Err(Omitted { reason, may_stay: true }));
        }
        Ok(Ok((self.make(subject, &input, None)?, false)))
    }

    /// Keeps the pages of an investigation that can't be read any more.
    fn stale(&self, subject: &SiteSubject<'_>, shown: &[SitePart]) -> Result<Option<SitePart>, ReportError> {
        let name = name_of(subject.folder);
        let id = subject.id.map(|id| id.to_string());
        let is_same = |part: &&SitePart| part.folder == name || id.as_deref() == Some(part.entry.id());
        let Some(part) = self.target.earlier(None).iter().find(is_same) else { return Ok(None) };
        let folder = format!("{}/", part.entry.id());
        if !part.entry.href.starts_with(&folder) || shown.iter().any(|it| it.entry.id() == part.entry.id()) {
            return Ok(None);
        }
        let files = self.target.keep_folder(&folder)?;
        let is_there = files.contains_key(&part.entry.href);
        Ok(is_there.then(|| SitePart { files, state: String::new(), is_lasting: false, ..part.clone() }))
    }

    /// Reuses the earlier site's part if a rebuild would produce the same files.
    fn kept(&self, subject: &SiteSubject<'_>) -> Result<Option<SitePart>, ReportError> {
        self.waiting.check()?;
        let Some(part) = self.known(subject) else { return Ok(None) };
        if part.evidence.is_some() {
            let Ok(snapshot) = subject.store.load(subject.folder) else { return Ok(None) };
            let evidence = self.sources.reading.evidence(&snapshot.investigation);
            if part.evidence != Some(parts::evidence(&evidence)) {
                return Ok(None);
            }
        }
        Ok(self.target.keep(part)?.then(|| SitePart::clone(part)))
    }

    fn make(
        &self,
        subject: &SiteSubject<'_>,
        input: &ReportInput,
        comparison: Option<&Comparison>,
    ) -> Result<SitePart, ReportError> {
        let mut tell = |done, nodes| {
            self.waiting.show(&|| match self.sources.folders.len() {
                1 => format!("rendering: page {done} of {nodes}"),
                all => {
                    let at = self.done.load(Ordering::Relaxed) + 1;
                    format!("rendering: investigation {at} of {all}, page {done} of {nodes}")
                }
            });
        };
        let mut files = FileMarks::new();
        let investigation = &input.snapshot.investigation;
        let cites = investigation.pins().next().is_some() || investigation.counted_runs().next().is_some();
        let evidence = cites.then(|| parts::evidence(&input.evidence));
        let shown = parts::digest([&subject.state, &evidence].map(|it| it.as_deref().unwrap_or_default()));
        let mut put = self.put_into(&mut files);
        let entry = self.builder.investigation(input, comparison, &shown, &mut tell, &mut put)?;
        drop(put);
        // The investigation may have changed while it was read.
        let is_lasting = subject.is_lasting
            && subject.state.is_some()
            && follows_from_state(input)
            && state(subject.store, subject.folder) == subject.state;
        let state = subject.state.clone().unwrap_or_default();
        let is_one_of_several = self.sources.folders.len() > 1;
        let folder = if is_one_of_several { name_of(subject.folder) } else { String::new() };
        Ok(SitePart { folder, state, is_lasting, shown, evidence, entry, files })
    }
}

/// Returns a digest of an investigation's state.
fn state(store: &Store, folder: &Path) -> Option<String> {
    let standing = store.refs(folder).ok()?;
    Some(parts::digest([format!("{standing:?}")]))
}

/// Returns true if identical states always produce this input. It is false if something is missing that may appear
/// later, or if a signature was checked against current keys.
fn follows_from_state(input: &ReportInput) -> bool {
    let snapshot = &input.snapshot;
    let is_whole = snapshot.faults.is_empty() && snapshot.ruleset.is_ok();
    let is_told = input.history.iter().all(|entry| entry.faults.is_empty() && entry.gaps.is_empty());
    let is_unchecked = |it: &SignOff| {
        matches!(it.state, SignOffState::Unsigned | SignOffState::Unchecked) && it.since != Since::Elsewhere
    };
    is_whole && is_told && input.sign_offs.all.iter().all(is_unchecked)
}
