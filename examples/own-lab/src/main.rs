fn main() -> std::process::ExitCode {
    own_lab::lab().main()
}
