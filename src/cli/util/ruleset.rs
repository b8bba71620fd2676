//! `tot util ruleset`: lists, shows and checks rulesets. Also reads the folder given by `--rulesets`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::cli::print::{columns, say};
use crate::cli::{CommandResult, root};
use crate::format::layout;
use crate::ruleset::library::{ENDING, FileProblem};
use crate::ruleset::plain_text::{WIDTH, listing, plain_text};
use crate::ruleset::schema::json_schema;
use crate::ruleset::{Library, RulesetError, RulesetFile};
use crate::text::counted;

pub(super) const EXAMPLES: &str = "\
Examples:
  tot util ruleset list
  tot util ruleset show review
  tot util ruleset show review --yaml > rulesets/ours.yaml    to base your own on
  tot util ruleset check rulesets/ours.yaml";

#[derive(Subcommand)]
pub(in crate::cli) enum RulesetCommand {
    /// List the rulesets with their purposes
    List(RulesetFolder),
    /// Show the requirements of a ruleset
    Show {
        /// Name of the ruleset, as listed, or a file NAME.yaml
        name: String,
        #[command(flatten)]
        folder: RulesetFolder,
        /// Print the YAML file, to base your own on
        #[arg(long)]
        yaml: bool,
    },
    /// Check ruleset files; exits with status 1 on errors
    Check {
        /// Files: NAME.yaml, or an investigation's ruleset.yaml
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Print the JSON Schema of ruleset files, for editors
    Schema,
}

/// The option for additional rulesets.
#[derive(Args)]
pub(in crate::cli) struct RulesetFolder {
    /// Folder of additional rulesets, one file NAME.yaml each
    #[arg(long, value_name = "DIR", value_parser = root::path())]
    rulesets: Option<PathBuf>,
}

impl RulesetFolder {
    /// Returns the built-in rulesets and those in the folder.
    pub(in crate::cli) fn library(&self) -> CommandResult<Library> {
        Ok(self.library_with(None)?.0)
    }

    /// Returns the rulesets, also that of a file that is given in place of a name, and the name.
    pub(in crate::cli) fn library_with(
        &self,
        named: Option<&str>,
    ) -> CommandResult<(Library, Option<String>)> {
        let file = named.filter(|named| named.contains(['.', '/', '\\'])).map(Path::new);
        let name = match file.and_then(Path::file_stem) {
            Some(name) => Some(name.to_string_lossy().into_owned()),
            None => named.map(str::to_owned),
        };
        let folder = self.rulesets.as_deref();
        let library = if file.or(folder).is_some() { library(folder, file)? } else { Library::default() };
        Ok((library, name))
    }
}

pub(super) fn run(command: RulesetCommand) -> CommandResult {
    match command {
        RulesetCommand::List(folder) => say(&listing(&folder.library()?, width())),
        RulesetCommand::Show { name, folder, yaml } => {
            let (library, named) = folder.library_with(Some(&name))?;
            show(&library, named.as_ref().unwrap_or(&name), yaml)
        }
        RulesetCommand::Check { files } => check(&files),
        RulesetCommand::Schema => say(&format!("{:#}\n", json_schema())),
    }
}

/// Returns the line width.
fn width() -> usize {
    columns().unwrap_or(WIDTH).min(WIDTH)
}

fn show(library: &Library, name: &str, yaml: bool) -> CommandResult {
    let file = library.get(name).ok_or_else(|| {
        format!("unknown ruleset {name} (known: {}); --rulesets DIR adds more", library.name_list())
    })?;
    say(&if yaml { file.text.clone() } else { plain_text(&file.ruleset, width()) })
}

fn check(files: &[PathBuf]) -> CommandResult {
    let mut faults = 0;
    for path in files {
        let found = match read(path) {
            Ok(text) => faults_of(path, &text),
            Err(fault) => vec![fault],
        };
        match found.as_slice() {
            [] => say(&format!("{}: OK\n", path.display()))?,
            found => say(&found.iter().map(|fault| format!("{fault}\n")).collect::<String>())?,
        }
        faults += found.len();
    }
    match faults {
        0 => Ok(()),
        _ => Err(counted(faults, "error").into()),
    }
}

/// Returns the errors in a file. An investigation's ruleset.yaml is not named after its ruleset, and may be identical to a
/// built-in one.
fn faults_of(path: &Path, text: &str) -> Vec<FileProblem> {
    let file = path.display().to_string();
    if path.file_name().is_some_and(|name| name == layout::RULESET) {
        let errors = RulesetFile::parse(text).err().unwrap_or_default();
        return errors.into_iter().map(|error| FileProblem { file: file.clone(), error }).collect();
    }
    Library::with([(file.as_str(), text)]).err().unwrap_or_default()
}

/// Reads the built-in rulesets, every `*.yaml` file in the folder, and the file. Returns the errors in all files if there are any.
fn library(folder: Option<&Path>, file: Option<&Path>) -> CommandResult<Library> {
    let mut paths: Vec<PathBuf> = file.map(Path::to_owned).into_iter().collect();
    if let Some(folder) = folder {
        let unreadable = |error| format!("can't read the ruleset folder {}: {error}", folder.display());
        for entry in std::fs::read_dir(folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_some_and(|ending| ENDING.strip_prefix('.') == ending.to_str()) {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths.dedup();
    let (mut texts, mut faults) = (Vec::new(), Vec::new());
    for path in paths {
        match read(&path) {
            Ok(text) => texts.push((path.display().to_string(), text)),
            Err(fault) => faults.push(fault),
        }
    }
    let library = Library::with(texts.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    match library {
        Ok(library) if faults.is_empty() => return Ok(library),
        Ok(_) => {}
        Err(found) => faults.extend(found),
    }
    faults.sort_by(|a, b| a.file.cmp(&b.file));
    let lines: String = faults.iter().map(|fault| format!("\n  {fault}")).collect();
    Err(format!("these rulesets can't be used:{lines}").into())
}

fn read(path: &Path) -> Result<String, FileProblem> {
    std::fs::read_to_string(path).map_err(|error| FileProblem {
        file: path.display().to_string(),
        error: RulesetError { line: None, reason: format!("can't be read: {error}"), suggestion: None },
    })
}
