//! The command of this lab.

fn main() -> std::process::ExitCode {
    own_lab::lab().main()
}
