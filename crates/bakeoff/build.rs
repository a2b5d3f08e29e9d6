//! Tells the program its version, with the commit that it is built from: `0.1.0 (8693ee198)`, or
//! `0.1.0 (8693ee198-dirty)` where files were changed since. A debug build has the version alone, since else
//! each commit would build its tests anew; so has a build without git, or of a release that was unpacked.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the program is built from, in the repository.
const BUILT_FROM: [&str; 4] = ["Cargo.toml", "Cargo.lock", "crates", "experiments"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    let is_optimised = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let told = match find_repository().filter(|_| is_optimised).and_then(|root| read_commit(&root))
    {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    };
    println!("cargo::rustc-env=BAKEOFF_VERSION={told}");
    if is_optimised {
        shrink_program();
    }
}

/// Folds functions of the same code into one, and packs relocations: a tenth of the program. The linker
/// that Rust brings for this target knows both; the packed form needs glibc 2.36 (Debian 12).
fn shrink_program() {
    let is_usual = env::var("TARGET").is_ok_and(|target| target == "x86_64-unknown-linux-gnu");
    let own_flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if is_usual && !own_flags.contains("link") {
        for argument in ["-Wl,--icf=all", "-Wl,-z,pack-relative-relocs"] {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
}

/// The root of bakeoff's own repository; `None` in another one, where a release was unpacked.
fn find_repository() -> Option<PathBuf> {
    let root = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?).join("../..").canonicalize().ok()?;
    let top = run_git(&root, &["rev-parse", "--show-toplevel"])?;
    (Path::new(&top).canonicalize().ok()? == root).then_some(root)
}

/// The commit, which is asked for anew when it or a file has changed.
fn read_commit(root: &Path) -> Option<String> {
    let heads = ["HEAD", "logs/HEAD"].map(|name| run_git(root, &["rev-parse", "--git-path", name]));
    let built_from = BUILT_FROM.map(str::to_owned);
    for path in heads.into_iter().flatten().chain(built_from).map(|path| root.join(path)) {
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    run_git(root, &["describe", "--always", "--dirty", "--abbrev=9", "--exclude=*"])
}

/// What git says; `None` where there is none, or it says nothing.
fn run_git(root: &Path, arguments: &[&str]) -> Option<String> {
    let said = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    let text = String::from_utf8(said.stdout).ok()?;
    let text = text.trim();
    (said.status.success() && !text.is_empty()).then(|| text.to_owned())
}
