//! Roots, ids that are left out, colours, exit statuses.

use super::{import_the_demo, tot, tot_in};
use crate::support::Sandbox;

#[test]
fn a_root_stands_before_or_after_the_command_or_in_the_environment() {
    let sandbox = Sandbox::new();
    let id = import_the_demo(&sandbox);
    let (root, home) = (sandbox.root(), sandbox.path("home"));
    let root = root.to_str().unwrap();
    let place = sandbox.repository(&id);
    let with = |arguments: &[&str], environment: &[(&str, &str)]| {
        let ran = tot_in(&sandbox, &home, arguments, environment);
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{arguments:?}");
        ran.out
    };
    let after = with(&["check", "--root", root], &[]);
    assert!(after.ends_with("1 investigation: 0 errors, 0 warnings\n"), "{after}");
    assert_eq!(with(&["--root", root, "check"], &[]), after);
    assert_eq!(with(&["check"], &[("TOT_ROOT", root)]), after);
    // The one that one stands in, at any depth.
    let inside = tot_in(&sandbox, &place.join("nodes"), &["check"], &[]);
    assert_eq!(inside.status, 0, "{inside:#?}");
    // Set to nothing, it names none.
    let unset = with(&["list"], &[("TOT_ROOT", "")]);
    assert_eq!(unset, "There is no investigation in investigations.\n");
    // What has no use for a root says so, and a server takes it from either place.
    let refused = tot(&sandbox, &["--root", root, "demo"]);
    assert_eq!(refused.status, 2, "{refused:#?}");
    assert!(refused.err.contains("`tot demo` takes no --root"), "{refused:#?}");
    let elsewhere = sandbox.path("elsewhere");
    let server = tot(&sandbox, &["--root", elsewhere.to_str().unwrap(), "mcp", "--min-rounds", "0"]);
    assert_eq!(server.status, 2, "{server:#?}");
}

/// Who sends errors nowhere gets the status all the same.
#[cfg(target_os = "linux")]
#[test]
fn an_error_that_nobody_can_read_is_no_panic() {
    let sandbox = Sandbox::new();
    let line = format!("{} show zzzz 2>/dev/full", crate::support::TOT);
    let output = sandbox.command("sh").args(["-c", &line]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn an_id_that_fits_several_names_them() {
    let sandbox = Sandbox::new();
    let id = import_the_demo(&sandbox);
    let other = "01a19b7c-a680-7000-8000-000000000000";
    std::fs::create_dir(sandbox.root().join(other)).unwrap();
    let ran = tot(&sandbox, &["verify", &id[..8]]);
    assert_eq!(ran.status, 1, "{ran:#?}");
    assert!(ran.err.contains("fits several") && ran.err.contains(&id) && ran.err.contains(other), "{ran:#?}");
    let unknown = tot(&sandbox, &["verify", "ffff"]);
    assert_eq!(unknown.status, 1, "{unknown:#?}");
    assert!(unknown.err.contains("not found in investigations"), "{unknown:#?}");
}

#[test]
fn wrong_usage_is_told_with_status_2() {
    let sandbox = Sandbox::new();
    for arguments in [&["nothing"][..], &["verify", "--nothing"], &["--color", "pink", "verify"], &["diff"]] {
        let ran = tot(&sandbox, arguments);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{arguments:?}: {ran:#?}");
    }
}
