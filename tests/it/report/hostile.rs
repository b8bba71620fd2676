//! The site of investigations with a hostile payload in every field that a stranger can set.

use std::collections::BTreeMap;

use tree_of_thoughts::domain::Pin;
use tree_of_thoughts::report::{ReadOptions, SiteOptions, Templates};
use tree_of_thoughts::service::project::{Drift, Forge, ProjectEvidence};
use tree_of_thoughts::store::Store;

use super::judge::faults;
use super::pages::{SiteContents, site};
use crate::specimens::{hostile, payloads::payloads};
use crate::support::some;
use crate::support::testing::folder;

#[test]
fn strangers_repositories_give_sound_sites() {
    let folder = folder();
    let mut names = BTreeMap::new();
    let mut inputs = Vec::new();
    for (name, path) in hostile::write(folder.path(), &some(payloads())) {
        let store = Store::new(folder.path());
        let (mut input, _) = ReadOptions::default().read(&store, &path).unwrap();
        let investigation = &input.snapshot.investigation;
        assert_eq!(investigation.nodes().count(), 7, "{name}: all are there to be shown");
        // As if all cited lines had moved, in a project on a forge.
        let moved = |pin: &Pin| (pin.clone(), Drift::Moved { path: pin.path.clone(), lines: pin.lines });
        let drift = investigation.pins().map(|(_, pin)| moved(pin)).collect();
        input.evidence = ProjectEvidence { drift, forge: Forge::of("https://github.com/o/n"), inputs: None };
        names.insert(input.snapshot.investigation.meta().id.to_string(), name);
        inputs.push(input);
    }
    let readable = inputs.iter().filter(|input| input.snapshot.ruleset.is_ok()).count();
    assert!(
        readable * 3 > inputs.len(),
        "only {readable} have a ruleset, without which nothing is an answer"
    );
    let contents = SiteContents { inputs, ..SiteContents::default() };
    let files = site(&contents, &Templates::load(&SiteOptions::default()).unwrap()).unwrap();
    let faulty: Vec<String> = faults(&files)
        .into_iter()
        .map(|fault| match fault.split_once('/').and_then(|(id, _)| names.get(id)) {
            Some(name) => format!("{name}: {fault}"),
            None => fault,
        })
        .collect();
    assert!(faulty.is_empty(), "{} faults:\n{}", faulty.len(), faulty.join("\n"));
}
