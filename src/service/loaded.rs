//! What the service returns: a loaded investigation with its rules, and the outcome of a write.

use std::sync::Arc;

use crate::assess::Assessment;
use crate::decide::Decision;
use crate::domain::{Code, Diagnostic, Investigation, Wording};
use crate::ruleset::{EffectiveRules, RulesetFile};
use crate::store::{CommitId, Snapshot};

/// An investigation with its rules.
pub struct Loaded {
    /// The committed state.
    pub snapshot: Snapshot,
    /// The ruleset that applies to the investigation.
    pub ruleset: Arc<RulesetFile>,
}

/// The outcome of a write.
pub struct Written {
    /// The new state.
    pub loaded: Loaded,
    /// The state that the decision was based on.
    pub before: Arc<Investigation>,
    /// The decision. If the decision has no event, nothing was written.
    pub decision: Decision,
    /// The conclusion tag, if the investigation has ended.
    pub tag: Option<String>,
}

impl Written {
    /// Returns the commit that was written, if any.
    pub fn commit(&self) -> Option<CommitId> {
        self.decision.event.is_some().then_some(self.loaded.snapshot.head)
    }
}

/// The outcome of a turn, which makes up to two writes.
pub struct Turn {
    /// The new state.
    pub loaded: Loaded,
    /// The previous state.
    pub before: Arc<Investigation>,
    /// The decisions, in order.
    pub decisions: Vec<Decision>,
    /// The commits.
    pub commits: Vec<CommitId>,
}

impl Turn {
    /// Returns the warnings of all decisions.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        self.decisions.iter().flat_map(|decision| decision.warnings.clone()).collect()
    }
}

impl Loaded {
    /// Combines a snapshot with its rules.
    ///
    /// # Errors
    ///
    /// Returns the error in the ruleset, and how to fix it, if it is unusable.
    pub fn of(snapshot: &Snapshot) -> Result<Loaded, Diagnostic> {
        let fault = match &snapshot.ruleset {
            Ok(ruleset) => return Ok(Loaded { ruleset: Arc::clone(ruleset), snapshot: snapshot.clone() }),
            Err(fault) => fault,
        };
        let readers = Wording::both("tot_status and tot-report", "`tot show` and `tot report`");
        let how = readers.map(|readers| {
            let file = &fault.path;
            format!(
                "Fix {file} in {} and commit it (git log -p {file} shows earlier versions); until then {readers} omit \
                 everything that needs rules.",
                snapshot.path.display()
            )
        });
        let message = format!("The rules of this investigation are unusable: {fault}.");
        Err(Diagnostic::new(Code::InvalidRuleset, message).suggest(how))
    }

    /// Returns the assessment of the investigation.
    pub fn assessment(&self) -> Assessment<'_> {
        Assessment::new(self.investigation(), Some(self.rules()))
    }

    /// Returns the investigation.
    pub fn investigation(&self) -> &Investigation {
        &self.snapshot.investigation
    }

    /// Returns the rules for this investigation.
    pub fn rules(&self) -> EffectiveRules<'_> {
        EffectiveRules::new(&self.ruleset.ruleset, self.snapshot.investigation.meta())
    }
}
