//! The first command of a newcomer.

use std::path::Path;

use crate::support::{Sandbox, TOT};

#[test]
fn the_demo_leaves_a_site_and_the_sound_investigation_of_the_bundle() {
    let sandbox = Sandbox::new();
    let output = sandbox.command(TOT).args(["demo", "demo"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "silent in a pipe");
    let mut folders =
        std::fs::read_dir(sandbox.path("demo/investigations")).unwrap().map(|entry| entry.unwrap().path());
    let repository = folders.find(|path| path.is_dir()).unwrap();
    sandbox.assert_sound(&repository);
    assert!(sandbox.path("demo/site/index.html").exists());
    assert!(!sandbox.path("demo/.clock").exists());
    let story = include_str!("../../src/cli/demo/story.yaml");
    let writing = story.lines().filter(|line| line.starts_with("  tool: tot")).count();
    let rejected = story.lines().filter(|line| line.starts_with("  expect: REJECTED")).count();
    let commits: usize = sandbox.git(&repository, &["rev-list", "--count", "HEAD"]).trim().parse().unwrap();
    assert_eq!(commits, writing - rejected);
    assert!(rejected > 0);
    let nodes = sandbox.git(&repository, &["ls-files", "nodes"]).lines().count();
    assert!(nodes >= 25, "{nodes}");
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("investigations/demo.bundle");
    let clone = sandbox.path("clone");
    sandbox.git(&sandbox.path("home"), &["clone", "-q", bundle.to_str().unwrap(), clone.to_str().unwrap()]);
    assert_eq!(
        sandbox.head(&clone),
        sandbox.head(&repository),
        "see investigations/README.md for how to renew it"
    );
    // A second run in the same folder is refused. Without a folder, it chooses another name.
    assert!(!sandbox.command(TOT).args(["demo", "demo"]).output().unwrap().status.success());
}
