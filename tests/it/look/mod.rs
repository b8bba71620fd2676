//! The commands that read, and the properties shared by all commands.

mod each;
mod frame;
mod screens;

use std::path::Path;

use crate::remote::Ran;
use crate::support::{Sandbox, TOT};

/// Runs `tot` in a folder of the sandbox.
pub fn tot_in(sandbox: &Sandbox, folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Ran {
    let mut command = sandbox.command(TOT);
    command.args(arguments).current_dir(folder).envs(environment.iter().copied());
    command.stdin(std::process::Stdio::null()).output().unwrap().into()
}

/// Runs `tot` in the sandbox folder.
pub fn tot(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    tot_in(sandbox, &sandbox.path(""), arguments, &[])
}

/// Imports the bundled investigation as the only one in the sandbox's root, and returns its id.
pub fn import_the_demo(sandbox: &Sandbox) -> String {
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("investigations/demo.bundle");
    let ran = tot(sandbox, &["import", bundle.to_str().unwrap()]);
    assert_eq!(ran.status, 0, "{ran:#?}");
    let mut folders = std::fs::read_dir(sandbox.root()).unwrap();
    folders.next().unwrap().unwrap().file_name().into_string().unwrap()
}
