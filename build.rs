//! Says of what the program was built: a site that another one has made is made anew (`src/report/parts.rs`). Its version
//! alone does not change with each commit.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    let mut hasher = DefaultHasher::new();
    for path in ["Cargo.lock", "src"] {
        println!("cargo::rerun-if-changed={path}");
        hash(Path::new(path), &mut hasher)?;
    }
    println!("cargo::rustc-env=TOT_SOURCES={:016x}", hasher.finish());
    Ok(())
}

fn hash(path: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    if path.is_dir() {
        let mut entries: Vec<_> = fs::read_dir(path)?.collect::<io::Result<_>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        return entries.iter().try_for_each(|entry| hash(&entry.path(), hasher));
    }
    // With `/` on every system, so that the same sources have the same.
    path.iter().for_each(|name| name.to_string_lossy().hash(hasher));
    fs::read(path)?.hash(hasher);
    Ok(())
}
