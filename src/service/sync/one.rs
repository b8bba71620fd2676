//! Syncs one investigation.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::notice::notices;
use super::{Done, SyncError, SyncSubject, Syncing};
use crate::domain::{Code, SessionId};
use crate::service::check::{self, Finding, Objects, Severity};
use crate::service::remote::{Advertised, LocalReferences, ObjectName, Pushed};
use crate::store::{CommitId, Joined};
use crate::text::{causes, counted, one_line, shell_line, shorten};

/// The maximum number of attempts when other clients push in between.
const TRIES: u32 = 10;
/// The number of refused pushes, without intervening pushes by others, after which a temporary lock is ruled out as the
/// cause.
const UNMOVED: u32 = 3;
/// The maximum wait before the second attempt. It doubles with each further attempt.
const JITTER: Duration = Duration::from_millis(200);
const MOST_JITTER: Duration = Duration::from_secs(10);
/// The maximum number of check findings to report.
const FINDINGS: usize = 10;

/// Tags by their local names.
type Tags<'h> = Vec<(&'h str, &'h ObjectName)>;

impl Syncing<'_> {
    /// Syncs one investigation, given the remote's references. Returns the transfer, and the error if the sync is
    /// incomplete.
    pub(super) fn one(&self, subject: &SyncSubject, advertised: &Advertised) -> (Done, Option<SyncError>) {
        let mut done = Done::default();
        let error = self.try_one(subject, advertised, &mut done).err();
        (done, error)
    }

    fn try_one(
        &self,
        subject: &SyncSubject,
        advertised: &Advertised,
        done: &mut Done,
    ) -> Result<(), SyncError> {
        let (path, upstream) = (&subject.path, &subject.upstream);
        let dry_run = self.options.dry_run;
        if subject.is_partial && !dry_run {
            let missing = self.git.missing(path)?;
            if !missing.is_empty() {
                self.git.fetch_objects(path, &upstream.remote, &missing)?;
            }
        }
        let branch = format!("refs/heads/{}", subject.branch);
        let is_settled = advertised.refs.get(&upstream.place.branch_ref()) == subject.here.refs.get(&branch);
        if !is_settled {
            if !dry_run {
                // A lock left by a killed server would block git.
                let _ = self.store.recover(path);
            }
            let id = self.store.id(path)?;
            let branch = upstream.place.branch.clone();
            if upstream.place.id().is_some_and(|named| named != id) {
                return Err(SyncError::AnotherBranch { remote: upstream.remote.clone(), branch, id });
            }
        }
        if dry_run {
            return self.foresee(subject, advertised, done);
        }
        let mut advertised = advertised.clone();
        let mut here = subject.here.clone();
        let mut unmoved = 0;
        for attempt in 0..TRIES {
            let theirs = self.take_in(subject, &advertised, &here, done)?;
            here = self.git.references(path)?;
            let Some(ours) = here.commit(&branch) else {
                let (path, branch) = (path.clone(), subject.branch.clone());
                return Err(SyncError::NotOwnBranch { path, branch, own: None });
            };
            if theirs != Some(ours) {
                self.guard(subject, ours, theirs, &known(subject, &advertised, &here, theirs))?;
                let number = self.store.open(path)?.count_beyond(theirs, ours)?;
                let object = here.refs[&branch].clone();
                let place = upstream.place.branch_ref();
                let pushed = self.git.push(path, &upstream.remote, &[(place.clone(), object)]);
                let refused = match pushed {
                    Ok(Pushed::Accepted { said }) => {
                        done.notes.extend(said);
                        None
                    }
                    Ok(Pushed::Refused { said, may_pass }) => Some((self.refused(subject, said), may_pass)),
                    Err(error) => Some((error.into(), false)),
                };
                if let Some((error, may_pass)) = refused {
                    thread::sleep(self.world.jitter((JITTER * (1 << attempt)).min(MOST_JITTER)));
                    // List the remote again: others may have pushed first, or the connection may have been cut.
                    let now = match super::ask(self.git, &[subject]) {
                        Ok(now) => now,
                        Err(cut) => return Err(if may_pass { cut } else { error }),
                    };
                    let there = now.refs.get(&place).and_then(ObjectName::commit);
                    advertised = now;
                    here = self.git.references(path)?;
                    if there != Some(ours) {
                        unmoved = if there == theirs { unmoved + 1 } else { 0 };
                        if there == theirs && (!may_pass || unmoved == UNMOVED) {
                            return Err(error);
                        }
                        continue;
                    }
                }
                done.went += number;
            }
            self.push_tags(subject, &advertised, &here, ours, done)?;
            return Ok(self.git.mark_synced(path, upstream)?);
        }
        Err(SyncError::LostRaces { remote: upstream.remote.clone(), tries: TRIES })
    }

    /// Fetches new commits and merges them. Returns the remote's commit.
    fn take_in(
        &self,
        subject: &SyncSubject,
        advertised: &Advertised,
        here: &LocalReferences,
        done: &mut Done,
    ) -> Result<Option<CommitId>, SyncError> {
        let (path, upstream) = (&subject.path, &subject.upstream);
        let seen = here.commit(&upstream.tracking);
        let place = upstream.place.branch_ref();
        let theirs = advertised.refs.get(&place).and_then(ObjectName::commit);
        let tags = new_tags(subject, advertised, here, done);
        let mut wanted: Vec<(String, String)> =
            tags.iter().map(|tag| (upstream.place.tag_ref(tag), format!("refs/tags/{tag}"))).collect();
        if theirs.is_some() && theirs != seen {
            wanted.push((place, upstream.tracking.clone()));
        }
        let rejected = match wanted.is_empty() {
            true => None,
            false => self.git.fetch(path, &upstream.remote, &wanted)?,
        };
        done.tags_came.extend(tags);
        let Some(mut theirs) = theirs else {
            let Some(seen) = seen else { return Ok(None) };
            // List the remote again to be sure, since git mistakes a truncated answer for an empty repository.
            let again = super::ask(self.git, &[subject])?;
            if again.refs.contains_key(&upstream.place.branch_ref()) {
                return self.take_in(subject, &again, here, done);
            }
            if !self.options.rejoin && !subject.has_moved {
                return Err(self.rewritten(subject, seen, None)?);
            }
            done.notes.extend(subject.sent_elsewhere.clone());
            self.keep_unjoined(subject, seen, done)?;
            return Ok(None);
        };
        let mut rewritten = None;
        let now = self.git.references(path)?.commit(&upstream.tracking);
        match (seen, now) {
            (_, Some(now)) if now == theirs => {}
            (Some(seen), _)
                if self.store.subject(path, theirs)?.is_some()
                    && !self.store.is_ancestor(path, seen, theirs)? =>
            {
                // What is at a new address may be older, but nothing may have been removed from it.
                if subject.has_moved && self.store.is_ancestor(path, theirs, seen)? {
                    done.notes.extend(subject.sent_elsewhere.clone());
                } else {
                    let error = self.rewritten(subject, seen, Some(theirs))?;
                    if !self.options.rejoin {
                        return Err(error);
                    }
                }
                rewritten = Some(seen);
            }
            // The branch moved between listing and fetching.
            (seen, Some(now)) if Some(now) != seen => theirs = now,
            _ => {
                let unsent = "the remote does not send the objects that it lists";
                let said = rejected.unwrap_or_else(|| unsent.to_owned());
                let what = format!("fetch from {}", upstream.remote);
                return Err(crate::service::remote::RemoteError::Failed { what, said }.into());
            }
        }
        self.join(subject, theirs, done)?;
        if let Some(seen) = rewritten {
            self.keep_unjoined(subject, seen, done)?;
            self.git.move_reference(path, &upstream.tracking, seen, theirs)?;
        }
        Ok(Some(theirs))
    }

    /// Keeps commits that were fetched from a rewritten remote but not merged, since no other reference reaches them.
    fn keep_unjoined(&self, subject: &SyncSubject, seen: CommitId, done: &mut Done) -> Result<(), SyncError> {
        let ours = self.store.head(&subject.path)?;
        if let Some(ours) = ours
            && !self.store.is_ancestor(&subject.path, seen, ours)?
        {
            let kept = super::keep(self.git, self.world, &subject.path, seen)?;
            let remote = &subject.upstream.remote;
            done.notes.push(format!(
                "the earlier history of {remote}, never merged here, is kept in the branch {kept}"
            ));
        }
        Ok(())
    }

    /// Merges the remote's commit and checks the result.
    fn join(&self, subject: &SyncSubject, theirs: CommitId, done: &mut Done) -> Result<(), SyncError> {
        let path = &subject.path;
        let before = self.store.load(path)?;
        let joined = match self.store.join(path, theirs) {
            Err(error) if !error.conflicts().is_empty() => {
                let files: Vec<&str> = error.conflicts().iter().map(String::as_str).collect();
                let [here, there] = self.git.both_changes(path, theirs, &files)?;
                return Err(SyncError::BothChanged { error: Arc::new(error), here, there });
            }
            joined => joined?,
        };
        if matches!(joined, Joined::Unchanged) {
            return Ok(());
        }
        done.came += self.store.open(path)?.count_beyond(Some(before.head), theirs)?;
        if let Joined::Merged { commit, decisions } = joined {
            done.joined = Some((commit, decisions));
        }
        let checked = check::read(self.store, path, Objects::default())?;
        let left_out = self.store.open(path)?.left_out(Some(before.head), checked.snapshot.head)?;
        done.notes.extend(left_out.iter().map(super::note));
        done.notices.extend(notices(&before, &checked.snapshot));
        let findings = check::check(&checked);
        // A notice already reports false names.
        let is_told =
            |finding: &&Finding| finding.severity == Severity::Error && finding.code != Code::AuthorDiffers;
        let errors = findings.iter().filter(is_told);
        done.notes.extend(errors.take(FINDINGS).map(ToString::to_string));
        Ok(())
    }

    /// Keeps the current commits of a rewritten remote, and reports the earlier commits that are missing.
    fn rewritten(
        &self,
        subject: &SyncSubject,
        seen: CommitId,
        theirs: Option<CommitId>,
    ) -> Result<SyncError, SyncError> {
        let (path, upstream) = (&subject.path, &subject.upstream);
        let missing = match theirs {
            None => format!("its branch {} no longer exists", upstream.place.branch),
            Some(theirs) => {
                let number = counted(self.store.open(path)?.count_beyond(Some(theirs), seen)?, "commit");
                let subject = self.store.subject(path, seen)?.unwrap_or_default();
                let newest = shorten(&one_line(&format!("{} “{subject}”", &seen.to_string()[..10])), 100);
                let kept = super::keep(self.git, self.world, path, theirs)?;
                format!(
                    "it lost {number}, the newest {newest}; its current history is kept in the branch {kept}"
                )
            }
        };
        Ok(SyncError::Rewritten { remote: upstream.remote.clone(), missing })
    }

    /// Pushes the tags that the remote lacks. Tags that differ stay unchanged on both sides.
    fn push_tags(
        &self,
        subject: &SyncSubject,
        advertised: &Advertised,
        here: &LocalReferences,
        branch: CommitId,
        done: &mut Done,
    ) -> Result<(), SyncError> {
        let (new, suspected) = self.tags_to_push(subject, advertised, here, branch, done)?;
        if !new.is_empty() {
            let place = &subject.upstream.place;
            let refs: Vec<_> =
                new.iter().map(|(tag, object)| (place.tag_ref(tag), (*object).clone())).collect();
            match self.git.push(&subject.path, &subject.upstream.remote, &refs)? {
                Pushed::Accepted { said } => {
                    done.tags_went.extend(new.iter().map(|(tag, _)| (*tag).to_owned()));
                    done.notes.extend(
                        said.into_iter().filter(|said| !done.notes.contains(said)).collect::<Vec<_>>(),
                    );
                }
                Pushed::Refused { said, .. } => return Err(self.refused(subject, said)),
            }
        }
        suspected.map_or(Ok(()), Err)
    }

    /// Returns the tags that the remote lacks after the branch is pushed. Tags of commits that are not on the branch are
    /// left out. Tags that must not be shared are left out and named in the error.
    fn tags_to_push<'h>(
        &self,
        subject: &SyncSubject,
        advertised: &Advertised,
        here: &'h LocalReferences,
        branch: CommitId,
        done: &mut Done,
    ) -> Result<(Tags<'h>, Option<SyncError>), SyncError> {
        let place = &subject.upstream.place;
        let is_there = |tag: &str| advertised.refs.contains_key(&place.tag_ref(tag));
        // A plain `git clone` of a hub also fetches the tags of other investigations.
        let is_foreign = |tag: &str| tag.split('/').any(|part| part.parse::<SessionId>().is_ok());
        let new: Vec<_> = here.tags().filter(|(tag, _)| !is_there(tag) && !is_foreign(tag)).collect();
        if new.is_empty() {
            return Ok((new, None));
        }
        let within = self.git.tags_within(&subject.path, branch)?;
        let is_within = |(tag, _): &(&str, &ObjectName)| within.contains(&format!("refs/tags/{tag}"));
        let (new, others): (Vec<_>, Vec<_>) = new.into_iter().partition(is_within);
        let left_out =
            |(tag, _)| format!("the tag {tag} is not sent: its commit is not on {}", subject.branch);
        done.notes.extend(others.into_iter().map(left_out));
        let known = known(subject, advertised, here, Some(branch));
        let all: Vec<ObjectName> = new.iter().map(|(_, object)| (*object).clone()).collect();
        match self.refuse_secrets(subject, &all, &known) {
            Ok(()) => Ok((new, None)),
            Err(SyncError::SecretSuspected { places, .. }) => {
                let is_clean = |(_, object): &(&str, &ObjectName)| {
                    self.refuse_secrets(subject, std::slice::from_ref(*object), &known).is_ok()
                };
                let (clean, others): (Vec<_>, Vec<_>) = new.into_iter().partition(is_clean);
                let tags = others.into_iter().map(|(tag, _)| tag.to_owned()).collect();
                Ok((clean, Some(SyncError::SecretSuspected { places, tags })))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the transfer that a sync would make, as precisely as possible without fetching.
    fn foresee(
        &self,
        subject: &SyncSubject,
        advertised: &Advertised,
        done: &mut Done,
    ) -> Result<(), SyncError> {
        let (path, upstream, here) = (&subject.path, &subject.upstream, &subject.here);
        let theirs = advertised.refs.get(&upstream.place.branch_ref()).and_then(ObjectName::commit);
        let seen = here.commit(&upstream.tracking);
        let Some(ours) = here.commit(&format!("refs/heads/{}", subject.branch)) else { return Ok(()) };
        let tags = new_tags(subject, advertised, here, done);
        done.tags_came.extend(tags);
        if theirs != Some(ours) {
            match theirs {
                None if seen.is_some() && !subject.has_moved => {
                    done.notes.push("the branch no longer exists".to_owned())
                }
                Some(theirs) if self.store.subject(path, theirs)?.is_none() => {
                    done.notes.push("the remote has new commits, which a sync would fetch".to_owned());
                }
                Some(theirs) => done.came = self.store.open(path)?.count_beyond(Some(ours), theirs)?,
                None => {}
            }
            let there = theirs.filter(|theirs| matches!(self.store.subject(path, *theirs), Ok(Some(_))));
            let there = there.or(seen.filter(|_| !subject.has_moved));
            done.went = self.store.open(path)?.count_beyond(there, ours)?;
            if done.went > 0
                && let Err(error) = self.guard(subject, ours, there, &known(subject, advertised, here, there))
            {
                done.notes.push(causes(&error));
            }
        }
        let (tags, suspected) = self.tags_to_push(subject, advertised, here, ours, done)?;
        done.tags_went.extend(tags.into_iter().map(|(tag, _)| tag.to_owned()));
        done.notes.extend(suspected.map(|error| causes(&error)));
        Ok(())
    }

    fn refused(&self, subject: &SyncSubject, said: String) -> SyncError {
        SyncError::Refused { remote: subject.upstream.remote.clone(), said }
    }
}

/// Returns the known commits on the remote: its branch, and the tags that both sides share.
fn known(
    subject: &SyncSubject,
    advertised: &Advertised,
    here: &LocalReferences,
    branch: Option<CommitId>,
) -> Vec<ObjectName> {
    let place = &subject.upstream.place;
    let same = here.tags().filter(|(tag, object)| advertised.refs.get(&place.tag_ref(tag)) == Some(*object));
    branch.map(ObjectName::from).into_iter().chain(same.map(|(_, object)| object.clone())).collect()
}

/// Returns the investigation's tags on the remote that are missing locally.
fn new_tags(
    subject: &SyncSubject,
    advertised: &Advertised,
    here: &LocalReferences,
    done: &mut Done,
) -> Vec<String> {
    let mut new = Vec::new();
    for (name, object) in &advertised.refs {
        let Some(tag) = subject.upstream.place.tag(name) else { continue };
        match here.refs.get(&format!("refs/tags/{tag}")) {
            None => new.push(tag.to_owned()),
            Some(ours) if ours != object => {
                let remote = &subject.upstream.remote;
                let fetch = [
                    "git".to_owned(),
                    "-C".to_owned(),
                    subject.path.display().to_string(),
                    "fetch".to_owned(),
                    remote.clone(),
                    format!("+{name}:refs/tags/{tag}"),
                ];
                let note = format!(
                    "the tag {tag} differs on {remote}; neither was changed. To take that of {remote}: `{}`",
                    shell_line(&fetch)
                );
                if !done.notes.contains(&note) {
                    done.notes.push(note);
                }
            }
            Some(_) => {}
        }
    }
    new
}
