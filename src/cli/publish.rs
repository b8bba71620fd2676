//! A site on disk: each investigation is read, rendered and written before the next one is looked at, on as many threads as
//! there are cores, and what an earlier run has made of the same is taken over.
//!
//! # When a part is taken over
//!
//! When all that its pages follow from is the same: the repository's own pointers (the commit, its branch and tags, where a
//! shallow clone ends), how what is cited stands, and what [`report::maker`] stands for. So a part is made anew each time
//! where there is more to it: a fault or a gap, which may be gone when an object is fetched; a signature that is checked,
//! which depends on keys and the day; another commit than the newest.
//!
//! The index and the feed are made anew by each run, of what is kept of each investigation.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::Progress;
use super::interrupt::Interrupt;
use super::report::{Source, name_of, refuse_none, twin, without_place};
use crate::domain::SessionId;
use crate::parallel;
use crate::report::{
    self, Builder, Part, ReportError, ReportInput, SiteOptions, Templates, Unreadable, Writing,
};
use crate::signoff::State;
use crate::store::{Since, Store};

/// A site that was written.
pub(super) struct Published {
    /// Investigations in it.
    pub shown: usize,
    /// How many of them are as they were in the earlier site.
    pub kept: usize,
    /// Those that could not be read.
    pub unreadable: Vec<Unreadable>,
}

/// Reads, renders and writes.
pub(super) fn publish(
    source: &Source,
    options: &SiteOptions,
    out: &Path,
    progress: &Progress,
) -> Result<Published, Box<dyn std::error::Error>> {
    let folders = source.folders()?;
    let several = folders.len() + source.missing.len() != 1;
    let templates = Templates::load(options)?;
    let interrupt = Interrupt::watch()?;
    let writing = Writing::begin(out)?;
    let maker = program().map(|program| report::maker(&program, &templates, several, &surroundings(source)));
    let earlier = maker.as_deref().map_or(&[][..], |maker| writing.earlier(maker));
    let work = Work {
        source,
        builder: Builder::new(&templates, several),
        earlier: earlier.iter().filter_map(|part| Some((part.state.as_deref()?, part))).collect(),
        writing: &writing,
        progress,
        interrupt,
        done: AtomicUsize::new(0),
        all: folders.len(),
        failed: AtomicBool::new(false),
    };
    let mut rest = writing.files();
    work.builder.assets(&mut |path, bytes| rest.put(path, &bytes))?;
    let mut parts = Vec::new();
    let mut unreadable = source.missing.clone();
    let mut kept = 0;
    if let ([(store, folder)], false) = (folders.as_slice(), several) {
        let subject = work.subject(store, folder);
        let (part, is_kept) = match work.kept(&subject)? {
            Some(part) => (part, true),
            None => {
                progress.show(&format!("reading {}", folder.display()));
                let (input, comparison) = source.read_one(&subject.store, folder)?;
                (work.make(&subject, &input, comparison.as_ref())?, false)
            }
        };
        kept += usize::from(is_kept);
        parts.push(part);
    } else {
        progress.show("looking at the investigations");
        let cores = parallel::cores();
        let subjects = parallel::each(&folders, cores, |(store, folder)| work.subject(store, folder));
        let twins = twins(&subjects);
        let jobs: Vec<_> = subjects.iter().zip(twins).collect();
        let made =
            parallel::each(&jobs, cores, |(subject, twin)| work.one_of_several(subject, twin.as_deref()));
        for (subject, made) in subjects.iter().zip(made) {
            match made {
                Made::Part(part, is_kept) => {
                    kept += usize::from(is_kept);
                    parts.push(*part);
                }
                Made::Unreadable(reason) => {
                    unreadable.push(Unreadable { name: name_of(subject.folder), reason });
                }
                Made::Failed(error) => return Err(error.into()),
                // Another one has failed, which is told.
                Made::LeftOut => {}
            }
        }
        refuse_none(&unreadable, folders.len() + source.missing.len())?;
    }
    progress.show("writing the index");
    let entries = parts.iter().map(|part| part.entry.clone()).collect();
    work.builder.rest(entries, &unreadable, &mut |path, bytes| rest.put(path, &bytes))?;
    let (rest, shown) = (rest.marks, parts.len());
    writing.finish(maker, parts, rest)?;
    Ok(Published { shown, kept, unreadable })
}

/// Stands for this program, whose version alone does not change with each build; absent where its file can't be read.
fn program() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    Some(report::digest([std::fs::read(program).ok()?]))
}

/// What all investigations are read with, as far as pages follow from it.
fn surroundings(source: &Source) -> String {
    format!("{:?} {:?}", source.signers.is_some(), source.evidence([]).forge)
}

/// For each whether one before it has the same id: then why it is not shown.
fn twins(subjects: &[Subject<'_>]) -> Vec<Option<String>> {
    let mut known: HashMap<SessionId, &Subject<'_>> = HashMap::new();
    let mut twins = Vec::with_capacity(subjects.len());
    for subject in subjects {
        let Some(id) = subject.id else {
            twins.push(None);
            continue;
        };
        match known.get(&id) {
            Some(other) => twins.push(Some(twin(id, &name_of(other.folder)))),
            None => {
                known.insert(id, subject);
                twins.push(None);
            }
        }
    }
    twins
}

/// An investigation that is to be shown.
struct Subject<'f> {
    folder: &'f PathBuf,
    /// One of its own, which is dropped with it: a store holds what it has read.
    store: Store,
    /// Stands for the state; absent where a part can't be known by it.
    state: Option<String>,
    /// Absent where it can't be read; then the error is told where all of it is read.
    id: Option<SessionId>,
}

/// What became of one of several.
enum Made {
    /// Its part, and whether it is that of the earlier site.
    Part(Box<Part>, bool),
    Unreadable(String),
    Failed(ReportError),
    LeftOut,
}

/// What the threads share.
struct Work<'w> {
    source: &'w Source,
    builder: Builder<'w>,
    /// The parts of the earlier site by their states.
    earlier: HashMap<&'w str, &'w Part>,
    writing: &'w Writing,
    progress: &'w Progress,
    interrupt: Interrupt,
    done: AtomicUsize,
    all: usize,
    /// Whether there will be no site.
    failed: AtomicBool,
}

impl Work<'_> {
    fn subject<'f>(&self, store: &Store, folder: &'f PathBuf) -> Subject<'f> {
        let store = Store::new(store.root());
        let state = self.state(&store, folder);
        let known = state.as_deref().and_then(|state| self.earlier.get(state));
        let id = match known.and_then(|part| part.entry.id().parse().ok()) {
            Some(id) => Some(id),
            None => store.id(folder).ok(),
        };
        Subject { folder, store, state, id }
    }

    /// Stands for the state of an investigation, where its pages follow from that.
    fn state(&self, store: &Store, folder: &Path) -> Option<String> {
        let Source { rev, range, withhold, ignore_uncommitted, .. } = self.source;
        if rev.is_some() || range.is_some() || !withhold.is_empty() {
            return None;
        }
        // What is refused is not taken over from an earlier site either.
        if !ignore_uncommitted && store.has_uncommitted_list(folder).unwrap_or(true) {
            return None;
        }
        let standing = store.standing(folder).ok()?;
        Some(report::digest([format!("{standing:?}")]))
    }

    fn one_of_several(&self, subject: &Subject<'_>, twin: Option<&str>) -> Made {
        if self.failed.load(Ordering::Relaxed) {
            return Made::LeftOut;
        }
        if let Some(twin) = twin {
            return Made::Unreadable(twin.to_owned());
        }
        let made = self.part_of_several(subject);
        let failed = |error| {
            self.failed.store(true, Ordering::Relaxed);
            Made::Failed(error)
        };
        self.done.fetch_add(1, Ordering::Relaxed);
        made.unwrap_or_else(failed)
    }

    fn part_of_several(&self, subject: &Subject<'_>) -> Result<Made, ReportError> {
        if let Some(part) = self.kept(subject)? {
            return Ok(Made::Part(Box::new(part), true));
        }
        let (input, _) = match self.source.read_one(&subject.store, subject.folder) {
            Ok(read) => read,
            Err(error) => return Ok(Made::Unreadable(without_place(error.as_ref(), subject.folder))),
        };
        if Some(input.snapshot.investigation.meta().id) != subject.id {
            return Ok(Made::Unreadable("it has become another investigation while it was read".to_owned()));
        }
        Ok(Made::Part(Box::new(self.make(subject, &input, None)?), false))
    }

    /// The part of the earlier site, taken over, where it would be made the same again.
    fn kept(&self, subject: &Subject<'_>) -> Result<Option<Part>, ReportError> {
        self.interrupt.check()?;
        let known = subject.state.as_deref().and_then(|state| self.earlier.get(state));
        let Some(part) = known else { return Ok(None) };
        if part.evidence.is_some() {
            let Ok(snapshot) = subject.store.load(subject.folder) else { return Ok(None) };
            let pins = snapshot.investigation.pins().map(|(_, pin)| pin);
            if part.evidence != Some(report::evidence(&self.source.evidence(pins))) {
                return Ok(None);
            }
        }
        Ok(self.writing.keep(part)?.then(|| Part::clone(part)))
    }

    fn make(
        &self,
        subject: &Subject<'_>,
        input: &ReportInput,
        comparison: Option<&report::Comparison>,
    ) -> Result<Part, ReportError> {
        let mut tell = |done, nodes| {
            self.progress.count(|| match self.all {
                1 => format!("rendering: page {done} of {nodes}"),
                all => {
                    let at = self.done.load(Ordering::Relaxed) + 1;
                    format!("rendering: investigation {at} of {all}, page {done} of {nodes}")
                }
            });
        };
        let mut files = self.writing.files();
        let mut put = |path: &str, bytes: Vec<u8>| {
            self.interrupt.check()?;
            files.put(path, &bytes)
        };
        let entry = self.builder.investigation(input, comparison, &mut tell, &mut put)?;
        // Somebody may have committed while it was read.
        let is_of = |state: &String| self.state(&subject.store, subject.folder).as_ref() == Some(state);
        let state = subject.state.clone().filter(|state| follows_from_state(input) && is_of(state));
        let cites = input.snapshot.investigation.pins().next().is_some();
        let evidence = cites.then(|| report::evidence(&input.evidence));
        Ok(Part { state, evidence, entry, files: files.marks })
    }
}

/// Whether the same state always gives this input: nothing that was missing may be there next time, and no signature is
/// judged by the keys of today.
fn follows_from_state(input: &ReportInput) -> bool {
    let snapshot = &input.snapshot;
    let is_whole = snapshot.faults.is_empty() && snapshot.ruleset.is_ok();
    let is_told = input.history.iter().all(|entry| entry.faults.is_empty() && entry.gaps.is_empty());
    let is_unchecked = |it: &crate::signoff::SignOff| {
        matches!(it.state, State::Unsigned | State::Unchecked) && it.since != Since::Elsewhere
    };
    is_whole && is_told && input.sign_offs.all.iter().all(is_unchecked)
}
