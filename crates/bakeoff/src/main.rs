//! The `bakeoff` command, with what is built in.

fn main() -> std::process::ExitCode {
    bakeoff::Lab::standard().main()
}
