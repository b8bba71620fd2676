//! Finds the programs that the benches start. Cargo passes their paths only to the tests of their own package.

use std::path::PathBuf;

fn main() {
    // target/PROFILE/build/NAME/out
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let programs = out.ancestors().nth(3).unwrap_or(&out);
    for name in ["tot", "tot-mcp", "tot-report"] {
        let program = programs.join(name).with_extension(std::env::consts::EXE_EXTENSION);
        println!("cargo:rustc-env=CARGO_BIN_EXE_{name}={}", program.display());
    }
    println!("cargo:rerun-if-changed=build.rs");
}
