//! Formats sign-offs as text and as JSON.

use schemars::JsonSchema;
use serde::Serialize;

use super::{SignOff, SignOffDecision, SignOffState, SignOffs};
use crate::assess::Signed;
use crate::domain::Timestamp;
use crate::ruleset::rules::shortened;
use crate::store::Since;
use crate::text::{counted, one_line};

/// The maximum number of nodes and files listed.
const NAMED: usize = 12;

/// A sign-off in JSON.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignOffView<'a> {
    tag: &'a str,
    decision: SignOffDecision,
    state: SignOffState,
    reason: Option<&'a str>,
    commit: String,
    /// The owner of the signing key, if the signature is good.
    signer: Option<&'a str>,
    /// The tagger named in the tag. `tagger` and `at` are only as trustworthy as the signature.
    tagger: Option<&'a str>,
    at: Option<Timestamp>,
    text: Option<&'a str>,
    conclusion: Option<&'a str>,
    ruleset: Option<&'a str>,
    open: Option<&'a [String]>,
    /// The changes since the signed commit. `null` if nothing has changed, or if the changes are unknown.
    since: &'a Since,
}

impl<'a> From<&'a SignOff> for SignOffView<'a> {
    fn from(it: &'a SignOff) -> Self {
        let statement = it.statement.as_ref();
        SignOffView {
            tag: &it.tag,
            decision: it.decision,
            state: it.state,
            reason: it.reason.as_deref(),
            commit: it.commit.to_string(),
            signer: it.signer.as_deref(),
            tagger: it.tagger.as_deref(),
            at: it.at,
            text: statement.map(|it| it.text.as_str()),
            conclusion: statement.and_then(|it| it.files.conclusion.as_deref()),
            ruleset: statement.and_then(|it| it.files.ruleset.as_deref()),
            open: statement.map(|it| it.open.as_slice()),
            since: &it.since,
        }
    }
}

impl SignOffs {
    /// Returns the sign-offs in the words of the verdict, without addresses.
    pub fn signed(&self) -> Vec<Signed> {
        let one = |mut it: SignOff| {
            it.hide_addresses();
            Signed {
                label: format!("{} by {}", it.label(), one_line(&it.by())),
                is_valid: it.state == SignOffState::Valid,
                is_approval: it.decision == SignOffDecision::Approved,
                is_earlier: it.is_earlier(),
            }
        };
        self.all.iter().cloned().map(one).collect()
    }
}

impl SignOff {
    /// Returns `Approved`, `Rejected`, or the reason why it does not count: `Approval, not checked`.
    pub fn label(&self) -> &'static str {
        match (self.state, self.decision == SignOffDecision::Approved) {
            (SignOffState::Valid, true) => "Approved",
            (SignOffState::Valid, false) => "Rejected",
            (SignOffState::Stale, true) => "Approved before later changes",
            (SignOffState::Stale, false) => "Rejected before later changes",
            (SignOffState::Unsigned, true) => "Unsigned approval",
            (SignOffState::Unsigned, false) => "Unsigned rejection",
            (SignOffState::Unchecked, true) => "Approval, not checked",
            (SignOffState::Unchecked, false) => "Rejection, not checked",
            (SignOffState::Invalid, true) => "Invalid approval",
            (SignOffState::Invalid, false) => "Invalid rejection",
        }
    }

    /// Returns whether it is known to be about an earlier state.
    pub fn is_earlier(&self) -> bool {
        self.state == SignOffState::Stale || matches!(self.since, Since::Later { .. })
    }

    /// Describes the changes since the signed commit in one sentence.
    pub fn changed_since(&self) -> Option<String> {
        let Since::Later { commits, nodes, files } = &self.since else { return None };
        let names: Vec<String> = nodes.iter().map(ToString::to_string).chain(files.iter().cloned()).collect();
        let changed = match names.as_slice() {
            [] => "nothing was changed".to_owned(),
            names => format!("changed: {}", shortened(names, NAMED)),
        };
        Some(format!("{} since then; {changed}.", counted(*commits, "commit")))
    }

    /// Describes, in one sentence, the points that were open at signing.
    pub fn open_then(&self) -> Option<String> {
        let open = &self.statement.as_ref()?.open;
        Some(match open.as_slice() {
            [] => "Nothing was open.".to_owned(),
            open => format!("Open then: {}.", shortened(open, NAMED)),
        })
    }

    /// Leaves only names of the signer and the tagger, for publishing: `Ada` of `Ada <ada@x>`, and `ada` of `ada@x`.
    pub fn hide_addresses(&mut self) {
        for person in [&mut self.signer, &mut self.tagger].into_iter().flatten() {
            let name = person.split('<').map(str::trim).find(|part| !part.is_empty()).unwrap_or_default();
            *person = name.split('@').next().unwrap_or_default().to_owned();
        }
    }

    /// Returns the signer, or the tagger named in the tag if the signature was not checked.
    pub fn by(&self) -> String {
        match (&self.signer, &self.tagger) {
            (Some(signer), _) => signer.clone(),
            (None, Some(tagger)) => format!("somebody using the name {tagger}"),
            (None, None) => "somebody".to_owned(),
        }
    }
}
