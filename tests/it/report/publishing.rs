//! The recipes in `investigations/publishing/`: parsed, with their commands run.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tree_of_thoughts::yaml;

use super::page;
use crate::support::{Sandbox, Session, TOT_REPORT};

fn recipe(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("investigations/publishing");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn workflow(name: &str) -> Value {
    yaml::from_text(&recipe(name)).unwrap()
}

/// An investigation, and a clone like the one on a forge's runner.
fn cloned(sandbox: &Sandbox) -> PathBuf {
    let session = Session::begun(sandbox);
    let clone = sandbox.path("clone");
    sandbox.git(&session.repository(), &["clone", "-q", ".", clone.to_str().unwrap()]);
    clone
}

/// Writes a file that can be run.
fn write_program(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Installs the program as `cargo install` would.
fn install(sandbox: &Sandbox) {
    let bin = sandbox.path("home/.cargo/bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::copy(TOT_REPORT, bin.join("tot-report")).unwrap();
}

/// Runs a line of a recipe. A fake `cargo` replaces the real one, which would compile for minutes. It checks its
/// arguments and copies the program to where `cargo install` would put it.
fn run(sandbox: &Sandbox, folder: &Path, line: &str, variables: &[(&str, &str)]) {
    let home = sandbox.path("home/.cargo");
    let cargo = format!(
        "#!/bin/bash\nset -eu\n\
         [[ \"$1 $2 $3 $4\" == \"install --locked --git https://\"*/tree-of-thoughts ]]\n\
         shift 4; root={}\n\
         if [[ $1 == --root ]]; then root=$2; shift 2; fi\n\
         [[ \"$*\" == \"--bin tot-report tree-of-thoughts\" ]]\n\
         mkdir -p \"$root/bin\"; cp '{TOT_REPORT}' \"$root/bin/tot-report\"\n",
        home.display()
    );
    let fake = sandbox.path("fake");
    write_program(&fake.join("cargo"), &cargo);
    let path = format!("{}:{}/bin:{}", fake.display(), home.display(), std::env::var("PATH").unwrap());
    let mut command = sandbox.command("bash");
    command.args(["-euo", "pipefail", "-c", line]).current_dir(folder);
    let output = command.env("PATH", path).envs(variables.iter().copied()).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

fn assert_site(site: &Path, base: &str) {
    let index = page(site, "index.html");
    assert!(index.contains(&format!("<link rel=\"canonical\" href=\"{base}")), "{index}");
    // The whole history: the first and the last commit.
    let history = page(site, "history.html");
    assert!(history.contains("Start: ") && history.contains("Commit R1.A"), "{history}");
}

#[test]
fn the_github_workflow_publishes_a_clone() {
    let flow = workflow("github-pages.yml");
    assert_eq!(flow["on"]["push"]["branches"], json!(["main"]));
    assert_eq!(flow["permissions"], json!({"contents": "read", "pages": "write", "id-token": "write"}));
    let job = &flow["jobs"]["publish"];
    assert_eq!(job["environment"]["name"], "github-pages");
    let steps = job["steps"].as_array().unwrap();
    let uses: Vec<&str> = steps.iter().filter_map(|step| step["uses"].as_str()).collect();
    for action in ["checkout", "configure-pages", "cache", "upload-pages-artifact", "deploy-pages"] {
        let found = uses.iter().find(|name| name.starts_with(&format!("actions/{action}@v")));
        assert!(found.is_some(), "{action} is missing in {uses:?}");
    }
    assert_eq!(steps[0]["with"]["fetch-depth"], 0, "the whole history");
    let order = |id: &str| steps.iter().position(|step| step["id"] == id || step["name"] == id).unwrap();
    assert!(order("pages") < order("Render") && order("Install") < order("Render"));
    assert!(order("Render") < order("deployment"));

    let sandbox = Sandbox::new();
    let clone = cloned(&sandbox);
    let source = flow["env"]["TOT_SOURCE"].as_str().unwrap();
    let variables = [("TOT_SOURCE", source), ("BASE_URL", "https://owner.github.io/investigation")];
    for line in steps.iter().filter_map(|step| step["run"].as_str()) {
        assert!(!line.contains("${{"), "an expression in a command is run as a part of it: {line}");
        run(&sandbox, &clone, line, &variables);
    }
    // The default folder of upload-pages-artifact.
    assert_site(&clone.join("_site"), "https://owner.github.io/investigation/");
}

#[test]
fn the_gitlab_pipeline_publishes_a_clone() {
    let flow = workflow("gitlab-pages.yml");
    assert_eq!(flow["variables"]["GIT_DEPTH"], "0", "the whole history");
    let job = &flow["pages"];
    assert_eq!(job["artifacts"]["paths"], json!(["public"]));
    assert!(job["image"].as_str().unwrap().starts_with("rust:"));
    assert_eq!(job["rules"][0]["if"], "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH");
    let sandbox = Sandbox::new();
    let clone = cloned(&sandbox);
    // GitLab's runner checks out a commit, not a branch.
    sandbox.git(&clone, &["checkout", "-q", "--detach"]);
    let source = flow["variables"]["TOT_SOURCE"].as_str().unwrap();
    let variables = [("TOT_SOURCE", source), ("CI_PAGES_URL", "https://owner.gitlab.io/investigation")];
    for line in job["script"].as_array().unwrap() {
        run(&sandbox, &clone, line.as_str().unwrap(), &variables);
    }
    assert_site(&clone.join("public"), "https://owner.gitlab.io/investigation/");
}

#[test]
fn a_push_to_a_bare_repository_with_the_hook_renews_the_site() {
    let sandbox = Sandbox::new();
    let clone = cloned(&sandbox);
    let bare = sandbox.path("bare.git");
    sandbox.git(&clone, &["init", "-q", "--bare", "-b", "main", bare.to_str().unwrap()]);
    write_program(&bare.join("hooks/post-receive"), &recipe("post-receive"));
    install(&sandbox);
    let site = sandbox.path("www");
    let push =
        || run(&sandbox, &clone, "git push -q ../bare.git HEAD:main", &[("SITE", site.to_str().unwrap())]);
    push();
    assert_site(&site, "https://example.org/investigation/");
    sandbox.git(&clone, &["commit", "-q", "--allow-empty", "-m", "A note by hand"]);
    push();
    assert!(page(&site, "history.html").contains("A note by hand"));
}

#[test]
fn the_commands_for_several_investigations_work_as_they_stand() {
    let readme = recipe("README.md");
    let block = readme.split("```sh\n").nth(2).unwrap().split("```").next().unwrap();
    let sandbox = Sandbox::new();
    let clone = cloned(&sandbox);
    sandbox.sleep(1);
    let other = Session::start(&sandbox, json!({}));
    let work = sandbox.path("work");
    std::fs::create_dir(&work).unwrap();
    let list = format!("{}\n{}\n", clone.display(), other.repository().display());
    std::fs::write(work.join("investigations.txt"), list).unwrap();
    install(&sandbox);
    run(&sandbox, &work, block, &[("BASE_URL", "https://example.org/")]);
    let index = page(&work, "_site/index.html");
    assert!(index.contains("2 investigations; what needs"), "{index}");
}

#[test]
fn every_recipe_is_named_in_the_guide() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("investigations/publishing");
    let guide = recipe("README.md");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name == "README.md" || guide.contains(&format!("[`{name}`]({name})")), "{name}");
    }
}
