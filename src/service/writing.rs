//! Decides on the committed state and writes the decision, in one store transaction.

use std::sync::Arc;

use super::changes::ServiceChange;
use super::loaded::{Loaded, Written};
use super::sharing::UseKind;
use super::{Refusal, Service};
use crate::decide::{Decision, Rejection};
use crate::domain::{Caller, Change, Code, Diagnostic, Event, Investigation, Node, Timestamp};
use crate::format::layout::{self, FileRole};
use crate::format::{self, FileChange, StoredFile, message, readme};
use crate::ruleset::{EffectiveRules, RulesetFile};
use crate::store::{Draft, Snapshot, StoreError, Transacted};

impl Service {
    /// Decides on the committed state and writes the decision as one commit.
    ///
    /// # Errors
    ///
    /// Returns the rejection by `decide` with the state it judged, the same errors as [`Service::read`], or a store
    /// error.
    pub fn write(
        &self,
        session: &str,
        caller: &Caller,
        decide: impl Fn(&Investigation, &EffectiveRules, Timestamp) -> Result<Decision, Rejection>,
    ) -> Result<Written, Refusal> {
        let written = self.transact(session, caller, |investigation, rules, now| {
            decide(investigation, rules, now).map(|decision| (decision, None))
        })?;
        let Transacted { before, after, tag, decided, .. } = written;
        let loaded = Loaded { snapshot: after, ruleset: decided.ruleset };
        Ok(Written { loaded, before: before.investigation, decision: decided.first, tag })
    }

    /// Decides on the committed state and writes each decision as one commit.
    pub(super) fn transact(
        &self,
        session: &str,
        caller: &Caller,
        decide: impl Fn(&Investigation, &EffectiveRules, Timestamp) -> Decisions,
    ) -> Result<Transacted<Decided>, Refusal> {
        let mut written = self.find(session, |path, is_it| {
            let Transacted { before, after, commits, tag, warnings, wants_upkeep, decided } =
                self.store.transact(path, |snapshot| match is_it(snapshot) {
                    true => self.decided(snapshot, caller, &decide),
                    false => Ok((Vec::new(), None)),
                })?;
            let transacted =
                |decided| Transacted { before, after, commits, tag, warnings, wants_upkeep, decided };
            Ok(decided.map(transacted))
        })?;
        let failures = written.warnings.drain(..).flat_map(|error| Refusal::from(error).errors);
        written.decided.first.warnings.extend(failures);
        let decisions = [Some(&written.decided.first), written.decided.second.as_ref()];
        let changes: Vec<Change> = decisions
            .into_iter()
            .flatten()
            .filter_map(|decision| decision.event.as_ref())
            .flat_map(Event::changes)
            .collect();
        if !changes.is_empty() {
            self.tell(ServiceChange::by(&written.before.investigation, &changes));
            let has_ended =
                changes.iter().any(|change| matches!(change, Change::Concluded(end) if !end.draft));
            self.used(&written.after, if has_ended { UseKind::Ended } else { UseKind::Wrote });
        }
        if written.wants_upkeep {
            self.maintain(&written.after.path);
        }
        Ok(written)
    }

    /// Decides on the committed state. Returns the drafts of the commits and the decisions.
    pub(super) fn decided(
        &self,
        snapshot: &Snapshot,
        caller: &Caller,
        decide: impl Fn(&Investigation, &EffectiveRules, Timestamp) -> Decisions,
    ) -> Result<(Vec<Draft>, Option<Decided>), Refusal> {
        let loaded = Loaded::of(snapshot)?;
        if let Some(fault) =
            snapshot.faults.iter().find(|fault| fault.is_unreadable() && fault.path == layout::CONCLUSION)
        {
            return Err(Diagnostic::new(
                Code::StoreError,
                format!("Cannot tell whether this investigation has ended: {fault}."),
            )
            .suggest(format!(
                "Fix or remove {} in {} and commit the change.",
                fault.path,
                snapshot.path.display()
            ))
            .into());
        }
        let at = self.now()?;
        let (mut first, mut second) = match decide(loaded.investigation(), &self.rules(&loaded), at) {
            Ok(decisions) => decisions,
            Err(rejection) => {
                return Err(Refusal { errors: rejection.errors, loaded: Some(Box::new(loaded)) });
            }
        };
        let mut drafts = Vec::new();
        let mut investigation = Arc::clone(&loaded.snapshot.investigation);
        for decision in [Some(&mut first), second.as_mut()].into_iter().flatten() {
            let Some(event) = decision.event.take() else { continue };
            let event = decision.event.insert(event.called_by(caller));
            let after = Arc::new(investigation.with(&event.changes()));
            let states = [investigation.as_ref(), after.as_ref()];
            drafts.push(draft(states, &loaded.rules(), event, &decision.warnings, caller, at)?);
            investigation = after;
        }
        Ok((drafts, Some(Decided { first, second, ruleset: loaded.ruleset })))
    }
}

/// The decisions of a transaction: one or two.
type Decisions = Result<(Decision, Option<Decision>), Rejection>;

/// The decisions of a transaction, and the ruleset that applied.
pub(super) struct Decided {
    pub(super) first: Decision,
    pub(super) second: Option<Decision>,
    pub(super) ruleset: Arc<RulesetFile>,
}

/// Returns the files and the commit message of an event.
fn draft(
    [before, after]: [&Investigation; 2],
    rules: &EffectiveRules,
    event: &Event,
    warnings: &[Diagnostic],
    caller: &Caller,
    at: Timestamp,
) -> Result<Draft, Refusal> {
    let mut files = format::files(event).map_err(StoreError::from)?;
    files.extend(readme::change(before, after, rules));
    check_sizes(&files)?;
    let message = message::message(before, rules, event, warnings, caller);
    Ok(Draft { files, changes: event.changes(), message, at })
}

/// Refuses files that exceed the limits for reading, so that every stored file remains readable.
fn check_sizes(files: &[FileChange]) -> Result<(), Refusal> {
    /// The maximum size of a file, which is half of the limit for reading.
    const MOST: usize = 8 << 20;
    /// Smaller files never exceed the limits.
    const SMALL: usize = 64 << 10;
    for file in files {
        let Some(content) = file.content.as_deref().filter(|content| content.len() > SMALL) else { continue };
        let FileRole::Node(id) = layout::file_role(&file.path) else { continue };
        let is_read = std::str::from_utf8(content).is_ok_and(|text| Node::read(text).is_ok());
        if content.len() > MOST || !is_read {
            let message = format!("{id} has {} bytes of text; the limit is {MOST}.", content.len());
            return Err(Diagnostic::new(Code::TextTooLong, message)
                .about(&id)
                .suggest("Shorten them, or put long material into a file and cite its path.")
                .into());
        }
    }
    Ok(())
}
