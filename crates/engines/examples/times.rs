//! How long each step of a server's life takes: cargo run --example times [FOLDER]

use std::time::Instant;

use bakeoff_engines::{mysql, postgres};
use bakeoff_servers::{Launch, PrivateServer, Result};

fn main() -> Result<()> {
    let parent = std::env::args_os().nth(1).unwrap_or_else(|| std::env::temp_dir().into());
    for program in [&mysql::SERVER, &postgres::SERVER] {
        let name = format!("bakeoff-times-{}", std::process::id());
        let directory = std::path::Path::new(&parent).join(name);
        let launch = Launch { directory: directory.clone(), ..Launch::default() };
        let version = &program.find()?.version;
        println!("{} {version}", program.kind());
        timed("initialise", || PrivateServer::initialise(program, &launch))?;
        for _ in 0..3 {
            let server = timed("start", || PrivateServer::start(program, &launch))?;
            timed("stop", || server.stop())?;
        }
        let server = timed("start", || PrivateServer::start(program, &launch))?;
        timed("kill", || server.kill());
        let server = timed("recover", || PrivateServer::start(program, &launch))?;
        println!("log:\n{}", server.log());
        drop(server);
        let _ = std::fs::remove_dir_all(directory);
    }
    Ok(())
}

fn timed<T>(what: &str, step: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = step();
    println!("  {what:<10} {:6.3} s", start.elapsed().as_secs_f64());
    done
}
