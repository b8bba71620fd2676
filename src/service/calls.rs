//! Calls that write. Each call applies the decision of the same name. All interfaces write through these calls.

use std::sync::Arc;

use super::changes::ServiceChange;
use super::sharing::UseKind;
use super::{Loaded, Refusal, Service, Turn, Written};
use crate::decide::amend::{Amend, amend};
use crate::decide::attach::{NewAttachment, attach};
use crate::decide::citing::{cited_by_amendment, cited_by_report, cited_by_results};
use crate::decide::claim::{Claimant, claim, release};
use crate::decide::comment::{Say, comment};
use crate::decide::commit::{NodeResult, commit};
use crate::decide::end::{End, end};
use crate::decide::next::{Next, claim_next, propose_next};
use crate::decide::propose::{NewNode, Propose, propose, take_free_ids, without_null_parents};
use crate::decide::reclassify::{Reclassify, reclassify};
use crate::decide::run::{NewRuns, record};
use crate::decide::start::{Start, secrets, start};
use crate::decide::{Decision, Rejection};
use crate::domain::{
    Caller, CommentId, Commenter, Diagnostic, Event, Investigation, LookedUpPaths, NodeId, RunId, SessionId,
};
use crate::format::message;
use crate::ruleset::EffectiveRules;
use crate::store::Transacted;

impl Service {
    /// Starts an investigation with the named or the default ruleset. Returns the investigation with any warnings.
    ///
    /// # Errors
    ///
    /// Returns `UNKNOWN_RULESET`, the decision's rejection, or a store error.
    pub fn start(
        &self,
        ruleset: Option<&str>,
        request: Start,
        caller: &Caller,
    ) -> Result<(Loaded, Vec<Diagnostic>), Refusal> {
        let file = self.ruleset(ruleset)?;
        let now = self.now()?;
        let secrets = secrets(&request, self.secrets(&file.ruleset));
        let id = self.world.id(now, SessionId::new);
        let meta = match start(request, &file.ruleset, self.min_rounds, id, now) {
            Ok(meta) if secrets.errors.is_empty() => meta,
            Ok(_) => return Err(Rejection { errors: secrets.errors }.into()),
            Err(mut rejection) => {
                rejection.errors.extend(secrets.errors);
                return Err(rejection.into());
            }
        };
        let message = message::started_with(&meta, &secrets.warnings, caller);
        let snapshot = self.store.create(meta, file, &message)?;
        let session = snapshot.investigation.meta().id;
        self.tell(ServiceChange { session, nodes: Vec::new(), started: true });
        let mut warnings = secrets.warnings;
        warnings.extend(self.give_remote(&snapshot));
        self.used(&snapshot, UseKind::Wrote);
        Ok((Loaded { snapshot, ruleset: Arc::new(file.clone()) }, warnings))
    }

    /// Registers nodes to research, or withdraws proposals.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Service::write`].
    pub fn propose(&self, session: &str, request: Propose, caller: &Caller) -> Result<Written, Refusal> {
        self.write(session, caller, |investigation, rules, now| {
            let mut request = request.clone();
            take_free_ids(investigation, rules, &mut request.nodes, &mut []);
            propose(investigation, rules, request, caller, now)
        })
    }

    /// Stores results, if any, and proposes the given nodes, or the tasks of a plan if no nodes are given. If all
    /// results belong to the given nodes, the nodes are proposed first. Both steps are decided before either is
    /// written.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Service::write`].
    pub fn step(
        &self,
        session: &str,
        results: Vec<NodeResult>,
        nodes: Option<Vec<NewNode>>,
        plan: &Next,
        caller: &Caller,
    ) -> Result<Turn, Refusal> {
        let nodes = nodes.map(without_null_parents);
        let known = self.look_up(|| cited_by_results(&results));
        let written = self.transact(session, caller, |investigation, rules, now| {
            let (mut nodes, mut results) = (nodes.clone(), results.clone());
            take_free_ids(investigation, rules, nodes.as_deref_mut().unwrap_or_default(), &mut results);
            let nodes = nodes.as_deref();
            if results.is_empty() {
                return Ok((propose_next(investigation, rules, nodes, plan, caller, now)?, None));
            }
            let store = |investigation: &Investigation| {
                commit(investigation, rules, results.clone(), &known, caller, now)
            };
            let propose =
                |investigation: &Investigation| propose_next(investigation, rules, nodes, plan, caller, now);
            let after = |first: &Decision| {
                investigation.with(&first.event.as_ref().map(Event::changes).unwrap_or_default())
            };
            let is_given =
                |result: &NodeResult| nodes.into_iter().flatten().any(|node| node.id == result.node_id);
            let (first, second) = if results.iter().all(is_given) {
                let first = propose_next(
                    investigation,
                    rules,
                    new_nodes(investigation, nodes).as_deref(),
                    plan,
                    caller,
                    now,
                )?;
                let second = store(&after(&first))?;
                (first, second)
            } else {
                let first = store(investigation)?;
                let second = propose(&after(&first)).map_err(|rejection| rejection.after_left_out(&first))?;
                (first, second)
            };
            Ok((first, Some(second)))
        })?;
        let Transacted { before, after, commits, decided, .. } = written;
        let decisions = [Some(decided.first), decided.second].into_iter().flatten().collect();
        let loaded = Loaded { snapshot: after, ruleset: decided.ruleset };
        Ok(Turn { loaded, before: before.investigation, decisions, commits })
    }

    /// Claims the pending nodes of a plan.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Service::write`].
    pub fn claim_next(
        &self,
        session: &str,
        plan: &Next,
        minutes: Option<u32>,
        caller: &Caller,
    ) -> Result<Written, Refusal> {
        self.write(session, caller, |investigation, rules, now| {
            claim_next(investigation, rules, plan, minutes, now)
        })
    }

    /// Claims nodes.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Service::write`].
    pub fn claim(
        &self,
        session: &str,
        nodes: &[NodeId],
        claimant: &Claimant,
        caller: &Caller,
    ) -> Result<Written, Refusal> {
        self.write(session, caller, |investigation, rules, now| {
            claim(investigation, rules, nodes, claimant, now)
        })
    }

    /// Releases nodes, regardless of who claimed them.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Service::write`].
    pub fn release(&self, session: &str, nodes: &[NodeId], caller: &Caller) -> Result<Written, Refusal> {
        self.write(session, caller, |investigation, _, _| release(investigation, nodes))
    }

    /// Stores results.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Service::write`].
    pub fn commit(
        &self,
        session: &str,
        results: Vec<NodeResult>,
        caller: &Caller,
    ) -> Result<Written, Refusal> {
        let known = self.look_up(|| cited_by_results(&results));
        self.write(session, caller, |investigation, rules, now| {
            commit(investigation, rules, results.clone(), &known, caller, now)
        })
    }

    /// Changes the state of a node.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Service::write`].
    pub fn reclassify(
        &self,
        session: &str,
        request: Reclassify,
        caller: &Caller,
    ) -> Result<Written, Refusal> {
        self.write(session, caller, |investigation, rules, now| {
            reclassify(investigation, rules, request.clone(), now)
        })
    }

    /// Corrects a node's text or the conclusion.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Service::write`].
    pub fn amend(&self, session: &str, request: Amend, caller: &Caller) -> Result<Written, Refusal> {
        let known = self.look_up(|| {
            // Edits change what the whole text cites.
            let snapshot = self.recovered(session).ok();
            let made = snapshot.map(|it| request.clone().with_edits_made(&it.investigation, caller));
            cited_by_amendment(made.and_then(Result::ok).flatten().as_ref().unwrap_or(&request))
        });
        self.write(session, caller, |investigation, rules, now| {
            amend(investigation, rules, request.clone(), caller, &known, now)
        })
    }

    /// Stores a comment under the name in git's configuration.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Service::write`].
    pub fn comment(&self, session: &str, request: Say, caller: &Caller) -> Result<Written, Refusal> {
        let author = self.commenter(session, caller)?;
        self.write(session, caller, |investigation, rules, now| {
            let id = self.world.id(now, CommentId::new);
            comment(investigation, rules, request.clone(), author.clone(), id, now)
        })
    }

    /// Stores command runs under the name in git's configuration.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Service::write`].
    pub fn record(&self, session: &str, request: NewRuns, caller: &Caller) -> Result<Written, Refusal> {
        let author = self.commenter(session, caller)?;
        self.write(session, caller, |investigation, rules, now| {
            record(investigation, rules, request.clone(), &author, self.world.id(now, RunId::new), now)
        })
    }

    /// Fails if [`Service::record`] would now refuse or fail to store these runs, as far as this can be known. Stores
    /// nothing.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Service::write`].
    pub fn rehearse(&self, session: &str, request: NewRuns, caller: &Caller) -> Result<(), Refusal> {
        let author = self.commenter(session, caller)?;
        let decide = |investigation: &Investigation, rules: &EffectiveRules, now| {
            let decision =
                record(investigation, rules, request.clone(), &author, self.world.id(now, RunId::new), now);
            decision.map(|decision| (decision, None))
        };
        let rehearsed = self.find(session, |path, is_it| {
            self.store.rehearse(path, |snapshot| match is_it(snapshot) {
                true => self.decided(snapshot, caller, decide),
                false => Ok((Vec::new(), None)),
            })
        });
        rehearsed.map(drop)
    }

    /// Returns the author for comments and runs.
    fn commenter(&self, session: &str, caller: &Caller) -> Result<Commenter, Refusal> {
        let (name, email) = self.store.open(&self.recovered(session)?.path)?.identity();
        Ok(Commenter { name, email, agent_id: None, caller: caller.clone() })
    }

    /// Attaches files to a committed node.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Service::write`].
    pub fn attach(
        &self,
        session: &str,
        node: &NodeId,
        files: &[NewAttachment],
        caller: &Caller,
    ) -> Result<Written, Refusal> {
        self.write(session, caller, |investigation, rules, _| {
            attach(investigation, rules, node, files.to_vec())
        })
    }

    /// Returns the current state of the investigation if the given call would end it. Writes nothing.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Service::write`].
    pub fn would_end(&self, session: &str, request: &End) -> Result<Option<Loaded>, Refusal> {
        let loaded = self.read(session)?;
        let ended = loaded.investigation().end_in_force().is_some();
        let known = LookedUpPaths::new();
        let decided = end(loaded.investigation(), &self.rules(&loaded), request.clone(), &known, self.now()?);
        match decided {
            Ok(decision) => Ok((decision.event.is_some() && !ended && !request.draft).then_some(loaded)),
            Err(rejection) => Err(Refusal { errors: rejection.errors, loaded: Some(Box::new(loaded)) }),
        }
    }

    /// Ends an investigation.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Service::write`].
    pub fn end(&self, session: &str, request: End, caller: &Caller) -> Result<Written, Refusal> {
        let texts = [request.bottom_line.as_deref(), request.conclusion.as_deref()];
        let known = self.look_up(|| cited_by_report(texts));
        self.write(session, caller, |investigation, rules, now| {
            end(investigation, rules, request.clone(), &known, now)
        })
    }
}

/// Returns the nodes to propose before their results are stored, without those that are already proposed in these words.
fn new_nodes(investigation: &Investigation, nodes: Option<&[NewNode]>) -> Option<Vec<NewNode>> {
    let is_proposed = |new: &NewNode| {
        let parent = new.parent.as_ref().map(|parent| investigation.find(parent).map(|node| &node.id));
        investigation.find(&new.id).is_ok_and(|node| {
            node.is_pending()
                && node.parent.as_ref().map(Ok) == parent
                && (node.title.as_str(), &node.planned_action, &node.covers)
                    == (new.title.trim(), &new.planned_action, &new.covers)
        })
    };
    Some(nodes?.iter().filter(|new| !is_proposed(new)).cloned().collect())
}
