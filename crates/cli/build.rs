//! Links the unwinder into the programs where that can be done. `libgcc_s.so` is one file less to find, map and relocate
//! at each start: about a tenth of what a hook costs.

// Cargo reads a build script's output, and a build script asks its environment.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods)]

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(name).unwrap_or_default();
    let is_native = target("HOST") == target("TARGET");
    if !is_native || target("CARGO_CFG_TARGET_OS") != "linux" || target("CARGO_CFG_TARGET_ENV") != "gnu" {
        return;
    }
    // A static build links it anyway.
    if target("CARGO_CFG_TARGET_FEATURE").split(',').any(|feature| feature == "crt-static") {
        return;
    }
    let Ok(asked) = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output() else { return };
    let archive = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    // Where the compiler has none it answers with the bare name.
    if let Some(folder) = Path::new(&archive).parent().filter(|folder| folder.is_absolute()) {
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}
