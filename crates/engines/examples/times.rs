//! How long each step of a server's life takes: cargo run --example times [FOLDER]

use std::time::Instant;

use bakeoff_engines::servers::{Launch, PrivateServer, Result};
use bakeoff_engines::{mysql, postgres};

fn main() -> Result<()> {
    let parent = std::env::args_os().nth(1).unwrap_or_else(|| std::env::temp_dir().into());
    for program in [&mysql::SERVER, &postgres::SERVER] {
        let name = format!("bakeoff-times-{}", std::process::id());
        let directory = std::path::Path::new(&parent).join(name);
        let launch = Launch { directory: directory.clone(), ..Launch::default() };
        let version = &program.find_installed()?.version;
        println!("{} {version}", program.kind());
        time_step("initialise", || PrivateServer::initialise(program, &launch))?;
        for _ in 0..3 {
            let server = time_step("start", || PrivateServer::start(program, &launch))?;
            time_step("stop", || server.stop())?;
        }
        let server = time_step("start", || PrivateServer::start(program, &launch))?;
        time_step("kill", || server.kill());
        let server = time_step("recover", || PrivateServer::start(program, &launch))?;
        println!("log:\n{}", server.log());
        drop(server);
        let _ = std::fs::remove_dir_all(directory);
    }
    Ok(())
}

fn time_step<T>(what: &str, step: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = step();
    println!("  {what:<10} {:6.3} s", start.elapsed().as_secs_f64());
    done
}
